/** The thread behind RangeThread: makes the records of a range of the change sequence, from its own look at
 * the database. */
import { CacheReader } from '../db/cache/read.js';
import { LccError } from '../lib/errors.js';
import { serveThread } from '../lib/thread.js';
import { Answer } from './answer.js';
import { formatNamed } from './formats/index.js';
import { addItem, contextOf, itemsOf, type Query, type QueryTalk } from './query.js';
import { Rejects } from './rejects.js';
import type { MadeRange, RangeAnswer, RangeRequest, RangeWorkerData, Span } from './ranges.js';
import { ReadBuffer } from './stored-content.js';

/** Serves the thread's owner until told to end. */
export function serveRanges(): void {
  serveThread(({ dbPath, machineId, formatName, query, slots }: RangeWorkerData) => {
    const whole: Query = { ...query, format: formatNamed(formatName) };
    const buffer = new ReadBuffer();
    let reader: CacheReader | undefined;
    let version = 0;
    return async (request: RangeRequest): Promise<RangeAnswer> => {
      reader ??= new CacheReader(dbPath, machineId);
      if (request === 'mark') {
        reader.rest();
        version = reader.dataVersion();
        return 'marked';
      }
      if (request === 'look') {
        reader.renew();
        return { looked: reader.dataVersion() === version };
      }
      const slot = new Slot(slots[request.slot] ?? new SharedArrayBuffer(0));
      return { made: await makeRange(reader, whole, request, slot, buffer), length: slot.length };
    };
  });
}

/** @throws RangeError when it is too large to be handed over */
async function makeRange(
  reader: CacheReader,
  whole: Query,
  { since, to }: Span,
  slot: Slot,
  buffer: ReadBuffer,
): Promise<Omit<MadeRange, 'bytes'>> {
  const rejects: string[] = [];
  const elsewhere: [string, string][] = [];
  const notes: string[] = [];
  const talk: QueryTalk = {
    reject: message => void rejects.push(message),
    elsewhere: (curl, machine) => void elsewhere.push([curl, machine]),
    note: message => void notes.push(message),
  };
  const query: Query = { ...whole, selection: { ...whole.selection, sinceSeq: since, toSeq: to } };
  const told = new Rejects(talk);
  const answer = new Answer(whole.format, contextOf(reader, query, told, talk, buffer), notOpened, slot);
  let count = 0;
  for (const window of itemsOf(reader, query, answer.writer)) {
    count += window.count;
    for (const item of window.items) {
      const written = addItem(answer, item);
      if (written !== undefined) await written;
    }
  }
  await answer.flush();
  return { count, rejects, elsewhere, replaced: told.replaced, notes };
}

/** Where records are put as they are made, neither head nor tail: those are of the whole stream. */
class Slot {
  readonly #bytes: Buffer;
  length = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#bytes = Buffer.from(memory);
  }

  /** @throws RangeError when it is full */
  add(part: string | Uint8Array): void {
    if (typeof part === 'string' && this.length + 3 * part.length <= this.#bytes.length) {
      this.length += this.#bytes.write(part, this.length);
      return;
    }
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }
}

function notOpened(): never {
  throw new LccError('bug', 'a range has neither head nor tail');
}
