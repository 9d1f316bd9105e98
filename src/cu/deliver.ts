/**
 * Changes since last time, into whoever wants them; the cursor moves on only when they were taken.
 *
 *     state        what happens                                       cursor
 *     locked       cursor read, checked against the snapshot          unmoved
 *     streaming    records into CMD, or to standard output            unmoved; FILE.next removed
 *     written      CMD: its input ended, waited for                   unmoved; pipe: FILE.next offered
 *     taken        CMD exited 0 and had read all; pipe: `commit`      moved, durably
 *
 * A death at any point leaves the cursor where it was: the same changes come again, which every format bears.
 */
import { CacheReader, type Selection } from '../db/cache/read.js';
import type { Advance } from '../lib/progress.js';
import { EXIT, LccError } from '../lib/errors.js';
import { ConsumerGone, startConsumer, type Consumer } from './consumer.js';
import { advanceCursor, dropNext, lockCursor, offerNext, readCursor, startOf } from './cursor.js';
import { runQuery, type Query, type QueryResult, type Sink } from './query.js';

export interface Delivery {
  dbPath: string;
  /** Whose content is on this machine. */
  machineId: string;
  query: Omit<Query, 'selection'> & { selection: Omit<Selection, 'sinceSeq'> };
  /** Cursor file of the consumer. */
  cursor?: string | undefined;
  /** Program and arguments to pipe into; undefined: standard output. */
  consumer?: readonly string[] | undefined;
  /** Only how many records there would be; nothing moves. */
  count: boolean;
}

export interface DeliveryTalk {
  /** A row that could not be written as it should. */
  reject(message: string): void;
  note(message: string): void;
  /** Explanations, where wanted. */
  explain(message: string): void;
  /** Progress, where somebody watches. */
  advance?: Advance | undefined;
  /** The running consumer, so that signals can be passed on. */
  started(consumer: Consumer): void;
}

/**
 * Answers one query.
 * @param stdout standard output; written whole when its `flush` returns
 * @returns the exit status: 0, 1 when rows were rejected, or that of the consumer that failed
 * @throws LccError as CacheReader, lockCursor, readCursor, startOf; `io` when the consumer did not take everything
 */
export async function deliver(
  delivery: Delivery,
  stdout: Sink & { flush(): void },
  talk: DeliveryTalk,
): Promise<number> {
  const file = delivery.cursor;
  const lock = file === undefined ? undefined : lockCursor(file);
  const reader = new CacheReader(delivery.dbPath, delivery.machineId);
  try {
    const sinceSeq = file === undefined ? 0 : startOf(file, readCursor(file), reader);
    const query: Query = { ...delivery.query, selection: { ...delivery.query.selection, sinceSeq } };
    if (delivery.count) {
      await stdout.write(`${countOf(reader, query)}\n`);
      stdout.flush();
      return EXIT.ok;
    }
    if (delivery.consumer !== undefined)
      return await intoConsumer(reader, query, delivery.consumer, file, talk);
    if (file !== undefined) dropNext(file);
    const result = await runQuery(reader, query, { open: () => stdout, whenEmpty: true }, talk);
    stdout.flush();
    if (file !== undefined) offerNext(file, { storeId: reader.storeId, seq: result.reachedSeq });
    return statusOf(result, talk);
  } finally {
    reader.close();
    lock?.release();
  }
}

function countOf(reader: CacheReader, query: Query): number {
  const { format, selection, limit } = query;
  const count = reader.count({
    ...selection,
    sides: selection.sides.filter(side => format.sides.includes(side)),
    local: format.local ?? false,
    browsable: format.browsable ?? false,
  });
  return Math.min(count, limit ?? Infinity);
}

async function intoConsumer(
  reader: CacheReader,
  query: Query,
  [command = '', ...args]: readonly string[],
  file: string | undefined,
  talk: DeliveryTalk,
): Promise<number> {
  let consumer: Consumer | undefined;
  const open = () => {
    consumer = startConsumer(command, args);
    talk.started(consumer);
    return consumer;
  };
  let result: QueryResult | undefined;
  try {
    result = await runQuery(reader, query, { open, whenEmpty: false }, talk);
  } catch (error) {
    if (!(error instanceof ConsumerGone)) {
      // It must not take the end of a broken stream for the end of a whole one.
      consumer?.kill('SIGTERM');
      throw error;
    }
  }
  const unmoved = file === undefined ? '' : `; ${file} not moved`;
  if (consumer !== undefined) {
    const end = await consumer.finish();
    if (end.status !== 0) {
      talk.reject(`${command} ${end.what}${unmoved}`);
      return end.status;
    }
    if (!end.tookAll || result === undefined)
      throw new LccError('io', `${command} ended before it had read everything${unmoved}`);
  }
  if (result === undefined) throw new LccError('bug', 'a stream without a consumer was cut');
  if (file !== undefined) advanceCursor(file, { storeId: reader.storeId, seq: result.reachedSeq });
  return statusOf(result, talk);
}

function statusOf(result: QueryResult, talk: DeliveryTalk): number {
  talk.explain(`${result.records} records, up to change ${result.reachedSeq}`);
  return result.rejected === 0 ? EXIT.ok : EXIT.someRejected;
}
