/**
 * Changes since the last run, for a consumer; the cursor moves on only when the consumer has taken them.
 *
 *     state        what happens                                       cursor
 *     locked       cursor read, checked against the snapshot          unmoved
 *     streaming    records into CMD, or to standard output            unmoved; FILE.next removed
 *     written      CMD: its input ended, waited for                   unmoved; pipe: FILE.next offered
 *     taken        CMD exited 0 and had read all; pipe: `commit`      moved, durably
 *
 * With --follow the states repeat, with one run of CMD per round; on standard output it is one stream, and FILE.next
 * is offered when it was ended in good order. After a crash the cursor has not moved: the same changes are sent again,
 * which every format tolerates.
 */
import { CacheReader, type Selection } from '../db/cache/read.js';
import { DatabaseWatch } from '../db/sqlite/watch.js';
import type { Clock } from '../lib/clock.js';
import { EXIT, LccError } from '../lib/errors.js';
import { ConsumerGone, startConsumer, type Consumer } from './consumer.js';
import { advanceCursor, dropNext, lockCursor, offerNext, readCursor, startOf } from './cursor.js';
import { followQuery, runInSlices } from './follow.js';
import { kindOf, runQuery, selectionOf, type Query, type QueryResult, type QueryTalk } from './query.js';
import { isWorthSplitting, RangeThread } from './ranges.js';
import type { StreamSink } from './sink.js';

export interface Delivery {
  dbPath: string;
  /** Machine whose content is local. */
  machineId: string;
  query: Omit<Query, 'selection'> & { selection: Omit<Selection, 'sinceSeq'> };
  /** Cursor file of the consumer. */
  cursor?: string | undefined;
  /** Program and arguments to pipe into; undefined: standard output. */
  consumer?: readonly string[] | undefined;
  /** Only how many records there would be; nothing moves. */
  count: boolean;
  /** What a long answer needs to be made by two threads; undefined: by one. */
  split?: { script: string; formatName: string } | undefined;
}

export interface DeliveryTalk extends QueryTalk {
  /** Explanations, where wanted. */
  explain(message: string): void;
  /** The running consumer, so that signals can be passed on. */
  started(consumer: Consumer): void;
  /** It has ended by itself. */
  ended(): void;
}

/** For --follow: see follow.ts. */
export interface Follow {
  clock: Clock;
  /** Ends it, after what is being written. */
  stop: AbortSignal;
}

type Output = StreamSink & { flush(): void | Promise<void> };

/**
 * Answers one query.
 * @param stdout standard output; written whole when its `flush` returns
 * @returns the exit status: 0, 1 when rows were rejected, or that of the consumer that failed
 * @throws LccError as CacheReader, lockCursor, readCursor, startOf; `io` when the consumer did not take everything
 */
export async function deliver(
  delivery: Delivery,
  stdout: Output,
  talk: DeliveryTalk,
  follow?: Follow,
): Promise<number> {
  const file = delivery.cursor;
  const lock = file === undefined ? undefined : lockCursor(file);
  const reader = new CacheReader(delivery.dbPath, delivery.machineId);
  try {
    const sinceSeq = file === undefined ? 0 : startOf(file, readCursor(file), reader);
    const query: Query = { ...delivery.query, selection: { ...delivery.query.selection, sinceSeq } };
    if (delivery.count) {
      await stdout.write(`${countOf(reader, query)}\n`);
      await stdout.flush();
      return EXIT.ok;
    }
    return follow === undefined
      ? await once(reader, query, delivery, stdout, talk, startThread(reader, query, delivery))
      : await staying(reader, query, delivery, stdout, talk, follow);
  } finally {
    reader.close();
    lock?.release();
  }
}

/** For a long answer; both have then looked at the same state of the database. */
function startThread(reader: CacheReader, query: Query, delivery: Delivery): RangeThread | undefined {
  const { split, dbPath, machineId, cursor } = delivery;
  if (split === undefined || !isWorthSplitting(query, reader.highWater)) return undefined;
  const thread = new RangeThread({ ...split, dbPath, machineId }, query);
  try {
    const together = thread.lookTogether(reader);
    // What was purged meanwhile may be more than the cursor bears.
    if (cursor !== undefined) startOf(cursor, readCursor(cursor), reader);
    if (together) return thread;
  } catch (error) {
    thread.stop();
    throw error;
  }
  thread.stop();
  return undefined;
}

function countOf(reader: CacheReader, query: Query): number {
  const kind = kindOf(query.format);
  const selection = selectionOf(query);
  if (kind === 'rows') return Math.min(reader.count(selection), query.limit ?? Infinity);
  let count = 0;
  for (const _ of reader[kind](selection, ['seq'])) if (++count === query.limit) break;
  return count;
}

async function once(
  reader: CacheReader,
  query: Query,
  { consumer, cursor }: Delivery,
  stdout: Output,
  talk: DeliveryTalk,
  thread: RangeThread | undefined,
): Promise<number> {
  const answer = (output: Parameters<typeof runQuery>[2]) => runQuery(reader, query, output, talk, thread);
  try {
    const result =
      consumer === undefined
        ? await ontoStdout(reader, () => answer({ open: () => stdout, whenEmpty: true }), cursor, stdout)
        : await intoConsumer(reader, open => answer({ open, whenEmpty: false }), consumer, cursor, talk);
    return typeof result === 'number' ? result : statusOf(result, talk);
  } finally {
    thread?.stop();
  }
}

/** On standard output one stream that goes on; a consumer is run for whatever has been committed since its last run. */
async function staying(
  reader: CacheReader,
  query: Query,
  delivery: Delivery,
  stdout: Output,
  talk: DeliveryTalk,
  { clock, stop }: Follow,
): Promise<number> {
  const { consumer, cursor, dbPath } = delivery;
  const watch = new DatabaseWatch(
    dbPath,
    () => reader.dataVersion(),
    clock,
    () => adviceOnAnother(delivery),
  );
  try {
    if (consumer === undefined) {
      const answer = () => followQuery(reader, query, stdout, { watch, stop }, talk);
      return statusOf(await ontoStdout(reader, answer, cursor, stdout), talk);
    }
    let status: number = EXIT.ok;
    let { sinceSeq = 0 } = query.selection;
    for (let left = query.limit ?? Infinity; ;) {
      reader.rest();
      const seen = reader.dataVersion();
      const limit = left === Infinity ? undefined : left;
      const some: Query = { ...query, limit, selection: { ...query.selection, sinceSeq } };
      const run = (open: () => StreamSink) => runInSlices(reader, some, open, stop, talk);
      const result = await intoConsumer(reader, run, consumer, cursor, talk);
      if (typeof result === 'number') return result;
      if (result.records > 0 && statusOf(result, talk) !== EXIT.ok) status = EXIT.someRejected;
      left -= result.records;
      sinceSeq = result.reachedSeq;
      if (stop.aborted || left === 0) return status;
      await watch.changedSince(seen, stop);
    }
  } finally {
    watch.close();
  }
}

/** What to do once another database has taken the place of ours: what the next run would say. */
function adviceOnAnother({ dbPath, machineId, cursor: file }: Delivery): string {
  if (file === undefined) return 'run again';
  let other: CacheReader | undefined;
  try {
    other = new CacheReader(dbPath, machineId);
    startOf(file, readCursor(file), other);
  } catch (error) {
    if (error instanceof LccError && error.code === 'data.refused') return error.message;
    // Not all of it may be there yet: the next run says what is wrong with it.
  } finally {
    other?.close();
  }
  return 'run again';
}

async function ontoStdout(
  reader: CacheReader,
  answer: () => Promise<QueryResult>,
  file: string | undefined,
  stdout: Output,
): Promise<QueryResult> {
  if (file !== undefined) dropNext(file);
  const result = await answer();
  await stdout.flush();
  if (file !== undefined) offerNext(file, { storeId: reader.storeId, seq: result.reachedSeq });
  return result;
}

/** @returns the status of a consumer that failed */
async function intoConsumer(
  reader: CacheReader,
  answer: (open: () => StreamSink) => Promise<QueryResult>,
  [command = '', ...args]: readonly string[],
  file: string | undefined,
  talk: DeliveryTalk,
): Promise<QueryResult | number> {
  let consumer: Consumer | undefined;
  const open = () => {
    consumer = startConsumer(command, args);
    talk.started(consumer);
    return consumer;
  };
  let result: QueryResult | undefined;
  try {
    result = await answer(open);
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
    talk.ended();
    if (end.status !== 0) {
      talk.reject(`${command} ${end.what}${unmoved}`);
      return end.status;
    }
    if (!end.tookAll || result === undefined)
      throw new LccError('io', `${command} ended before it had read everything${unmoved}`);
  }
  if (result === undefined) throw new LccError('bug', 'a stream without a consumer was cut');
  if (file !== undefined) advanceCursor(file, { storeId: reader.storeId, seq: result.reachedSeq });
  return result;
}

function statusOf(result: QueryResult, talk: DeliveryTalk): number {
  const replaced =
    result.replaced === 0 ? '' : `, ${result.replaced} of them replaced meanwhile and left out`;
  talk.explain(`${result.records} records, up to change ${result.reachedSeq}${replaced}`);
  return result.rejected === 0 ? EXIT.ok : EXIT.someRejected;
}
