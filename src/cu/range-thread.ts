/** The thread behind RangeThread: makes the records of a range of the change sequence, from its own look at the database. */
import { workerData } from 'node:worker_threads';
import { CacheReader } from '../db/cache/read.js';
import { Answer } from './answer.js';
import { formatNamed } from './formats/index.js';
import { addItem, contextOf, itemsOf, Rejects, type Query } from './query.js';
import type { MadeRange, RangeAnswer, RangeRequest, RangeWorkerData, Span } from './ranges.js';
import type { Sink } from './sink.js';

/* oxlint-disable unicorn/require-post-message-target-origin -- a port of worker_threads has no origin */

/** What is handed over of one range at most: more would have to be kept until its turn. */
const MAX_RANGE_BYTES = 8 * 1024 * 1024;

/** Serves the thread's owner until told to end. */
export function serveRanges(): void {
  const { dbPath, machineId, formatName, query, port, answered } = workerData as RangeWorkerData;
  const whole: Query = { ...query, format: formatNamed(formatName) };
  let reader: CacheReader | undefined;
  let version = 0;

  const answerTo = async (request: Exclude<RangeRequest, 'end'>): Promise<RangeAnswer> => {
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
    return { made: await makeRange(reader, whole, request) };
  };
  const serve = async (request: RangeRequest): Promise<void> => {
    if (request === 'end') {
      reader?.close();
      port.close();
      return;
    }
    // Whatever went wrong: who tries it again there says what.
    const answer = await answerTo(request).catch((): RangeAnswer => 'declined');
    const isBytes = typeof answer === 'object' && 'made' in answer;
    port.postMessage(answer, isBytes ? [answer.made.bytes.buffer as ArrayBuffer] : []);
    Atomics.add(answered, 0, 1);
    Atomics.notify(answered, 0);
  };
  let last = Promise.resolve();
  port.on('message', (request: RangeRequest) => {
    last = last.then(() => serve(request));
  });
}

/** @throws RangeError when it is too large to be handed over */
async function makeRange(reader: CacheReader, whole: Query, { since, to }: Span): Promise<MadeRange> {
  const rejects: string[] = [];
  const notes: string[] = [];
  const talk = { reject: (m: string) => void rejects.push(m), note: (m: string) => void notes.push(m) };
  const query: Query = { ...whole, selection: { ...whole.selection, sinceSeq: since, toSeq: to } };
  const { format } = query;
  // Neither beginning nor end: those are of the whole stream.
  const records = {
    sides: format.sides,
    takesFields: format.takesFields,
    open: (context: Parameters<typeof format.open>[0]) => ({
      ...format.open(context),
      head: '',
      tail: () => '',
    }),
  };
  const collected = new Collected();
  const told = new Rejects(talk);
  const answer = new Answer(records, contextOf(reader, query, told, talk), () => collected);
  let count = 0;
  for (const item of itemsOf(reader, query, answer.writer, told.damaged)) {
    count += item.count;
    const written = addItem(answer, item, talk);
    if (written !== undefined) await written;
  }
  await answer.flush();
  return { count, bytes: collected.whole(), rejects, notes };
}

class Collected implements Sink {
  readonly #parts: Buffer[] = [];
  #length = 0;

  write(chunk: string | Uint8Array): void {
    // Text becomes bytes of its own, bytes are copied: they are their owner's again.
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk);
    this.#length += bytes.length;
    if (this.#length > MAX_RANGE_BYTES) throw new RangeError('more than is handed over');
    this.#parts.push(bytes);
  }

  /** In memory that can be handed over: its own, not part of a pool. */
  whole(): Uint8Array {
    const bytes = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }
}
