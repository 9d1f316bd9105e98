/**
 * Answers that go on: what is there, then each change as it is committed. The snapshot is let go before
 * anybody waits, for a commit or for the reader, because the write-ahead log of the database grows as long as
 * one is open. So this is no look at one moment, but complete along the change sequence: what is changed
 * again before it was read is met again, further on.
 */
import { CacheReader } from '../db/cache/read.js';
import type { Clock } from '../lib/clock.js';
import { EXIT, LccError } from '../lib/errors.js';
import { runForEach, type ConsumerCall, type ConsumerProgram } from './consumer.js';
import { readCursor, startOf } from './cursor.js';
import { intoConsumer, ontoStdout, statusOf, type DeliveryTalk, type StandardOutput } from './cursor-move.js';
import { Stream, type QueryResult, type QueryTalk } from './query.js';
import type { StreamSink } from './sink.js';
import type { Source, Watching } from './source.js';
import { StayingProgram } from './staying-program.js';
import type { PlacedDelivery, Query } from './types.js';

/** A program that was stopped may take this time to end before lccq says that it waits. */
const PATIENCE_MS = 2000;

/** Parts that --follow needs. */
export interface Following {
  clock: Clock;
  /** Ends it, after what is being written. */
  stop: AbortSignal;
}

/** On standard output one stream that goes on; a consumer is run for whatever has been committed since its
 * last run, or stays and gets that as the next stream. */
export async function follow(
  source: Source,
  query: Query,
  delivery: PlacedDelivery,
  stdout: StandardOutput,
  talk: DeliveryTalk,
  following: Following,
): Promise<number> {
  const { clock, stop } = following;
  const { consumer, place } = delivery;
  const watch = source.watch(clock, () => adviceOnAnother(delivery));
  try {
    if (consumer === undefined) {
      const answer = () => followQuery(source, query, stdout, { watch, stop }, talk);
      return statusOf(await ontoStdout(source.storeId, answer, place, stdout), talk);
    }
    return await inBatches(source, query, { ...delivery, consumer }, talk, following, watch);
  } finally {
    watch.close();
  }
}

/**
 * Hands over all changes there are when it begins, in streams of `batch` records at most, each for a run of
 * the consumer, or for one that stays; then, where there is a watch, those that are committed.
 * @returns its status; `tempfail` where it was stopped before all of it was taken
 */
export function inBatches(
  source: Source,
  query: Query,
  delivery: ConsumedDelivery,
  talk: DeliveryTalk,
  following: Following,
  watch?: Watching,
): Promise<number> {
  const { stop } = following;
  const { place, batch = Infinity } = delivery;
  const end = watch === undefined ? source.highWater : Infinity;
  return intoProgram(delivery, following, talk, async program => {
    const isWatched = watch !== undefined && program.gone !== undefined;
    const halt = isWatched ? AbortSignal.any([stop, program.gone]) : stop;
    let status: number = EXIT.ok;
    let left = query.limit ?? Infinity;
    let sinceSeq = query.selection.sinceSeq ?? 0;
    for (;;) {
      const seen = watch?.seen() ?? 0;
      const most = Math.min(left, batch);
      const limit = most === Infinity ? undefined : most;
      const some = { ...query, limit, selection: { ...query.selection, sinceSeq } };
      const write = (open: () => StreamSink) => runInSlices(source, some, open, stop, talk);
      const result = await intoConsumer(source.storeId, write, program, place, talk);
      if (typeof result === 'number') return result;
      if (result.records > 0 && statusOf(result, talk) !== EXIT.ok) status = EXIT.someRejected;
      left -= result.records;
      sinceSeq = result.reachedSeq;
      if (halt.aborted) return watch !== undefined || sinceSeq >= end ? status : EXIT.tempfail;
      if (left === 0 || sinceSeq >= end) return status;
      if (result.records === most) continue;
      if (watch === undefined) return status;
      await watch.changedSince(seen, halt);
    }
  });
}

/** A delivery whose streams a program takes. */
type ConsumedDelivery = PlacedDelivery & { consumer: ConsumerCall };

/** Has streams taken by a program, and ends one that stays. @returns their status, or that of its end */
async function intoProgram(
  { consumer, stays, query }: ConsumedDelivery,
  { clock, stop }: Following,
  talk: DeliveryTalk,
  send: (program: ConsumerProgram) => Promise<number>,
): Promise<number> {
  if (stays !== true) return await send(runForEach(consumer));
  const program = new StayingProgram(consumer, query.format.betweenStreams ?? '');
  try {
    const status = await send(program);
    const end = await program.end();
    // A signal that stops us often goes to the program as well.
    if (end === undefined || end.status === 0 || stop.aborted) return status;
    talk.reject(`${program.name} ${end.what}, after it had answered everything`);
    return end.status;
  } finally {
    const enough = clock.after(PATIENCE_MS, () => {
      if (program.isStopped) talk.note(`waiting for ${program.name} to end; two signals end lccq without it`);
    });
    await program.over();
    enough();
  }
}

/** The advice once another database has taken the place of ours: the words of the next run. */
function adviceOnAnother({ dbPath, machineId, cursor: file }: PlacedDelivery): string {
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

/** One stream from the beginning of the answer until `stop`, or as many records as the query asks for. */
function followQuery(
  source: Source,
  query: Query,
  sink: StreamSink,
  { watch, stop }: { watch: Watching; stop: AbortSignal },
  talk: QueryTalk,
): Promise<QueryResult> {
  const stream = streamOf(source, query, () => sink, talk);
  const write = async () => {
    await stream.answer.open();
    for (;;) {
      const seen = watch.seen();
      await catchUp(stream, source, query, stop);
      await stream.answer.flush();
      if (stop.aborted || stream.records === query.limit) return;
      await watch.changedSince(seen, stop);
    }
  };
  return stream.whole(write, true);
}

/**
 * Writes all changes that are there now, as one whole stream; the sink is asked for when there is something.
 */
export function runInSlices(
  source: Source,
  query: Query,
  open: () => StreamSink,
  stop: AbortSignal,
  talk: QueryTalk,
  whenEmpty = false,
): Promise<QueryResult> {
  const stream = streamOf(source, query, open, talk);
  const write = async () => {
    if (whenEmpty) await stream.answer.open();
    await catchUp(stream, source, query, stop);
  };
  return stream.whole(write, whenEmpty);
}

function streamOf(source: Source, query: Query, open: () => StreamSink, talk: QueryTalk): Stream {
  return new Stream(query, rejects => source.context(query, rejects, talk), open, talk);
}

/** Takes the changes that are there now; not those added while it reads, or a batch would have no end while
 * sites are busy. */
async function catchUp(stream: Stream, source: Source, query: Query, stop: AbortSignal): Promise<void> {
  const to = await source.look(stop);
  const { began = 0, limit = Infinity } = query;
  const range = { since: stream.reachedSeq, to, limit: limit - stream.records, began };
  await stream.write(source.windows(query, range, stream.answer.writer, stop), stop);
}
