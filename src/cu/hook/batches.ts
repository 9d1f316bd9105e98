/** Batches of lines, each as one JSON object or several: what is posted never grows with a batch. */
import { LccError } from '../../lib/errors.js';
import { ByteLines, utf8Of } from '../../lib/byte-lines.js';
import { MB } from '../../config/amounts.js';

const HEAD = '{"type":"lcc.changes","changes":[';
const TAIL = ']}';
/** A line with the text, or the content, of a page. */
const MAX_LINE_BYTES = 256 * MB;

interface BatchTalk {
  /** Bytes of a body at most; a longer line is sent alone. */
  maxBytes: number;
  /** Resolves when it is delivered. */
  deliver: (body: string) => Promise<void>;
  /** All of a batch has been delivered. */
  done: () => void;
}

/**
 * Delivers batch after batch, in order, each ended by an empty line (`lccq --stay`).
 * @throws LccError `data.malformed` for a line that is no JSON object, `limit` for one that is too long,
 *   `data.cut` where the input ends within a batch; what `deliver` throws
 */
export async function deliverBatches(
  input: AsyncIterable<Buffer>,
  { maxBytes, deliver, done }: BatchTalk,
): Promise<void> {
  const lines = new ByteLines(MAX_LINE_BYTES);
  let number = 0;
  let isBegun = false;
  let body = '';
  let bytes = 0;
  const send = async () => {
    const changes = body;
    body = '';
    bytes = 0;
    if (changes !== '') await deliver(HEAD + changes + TAIL);
  };
  for await (const chunk of input)
    for (const read of lines.read(chunk)) {
      number++;
      isBegun = read !== '';
      if (read === '') {
        await send();
        done();
        continue;
      }
      const line = objectIn(read, number);
      const length = Buffer.byteLength(line) + 1;
      if (bytes > 0 && HEAD.length + bytes + length + TAIL.length > maxBytes) await send();
      body += body === '' ? line : `,${line}`;
      bytes += length;
    }
  if (isBegun || lines.pendingBytes > 0)
    throw new LccError(
      'data.cut',
      `standard input:${number + 1}:1: ends within a batch, which does not count; run it below lccq --stay`,
    );
}

function objectIn(read: string | undefined, number: number): string {
  const where = `standard input:${number}:1`;
  if (read === undefined)
    throw new LccError('limit', `${where}: longer than ${MAX_LINE_BYTES} bytes; leave the content out`);
  const line = utf8Of(read);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    value = undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new LccError('data.malformed', `${where}: no JSON object; give lccq --format=jsonl, or chunks`);
  return line;
}
