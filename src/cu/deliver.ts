/** A query answered for lccq: counted, written once, or followed; the cursor is locked meanwhile. */
import type { CacheReader } from '../db/cache/read.js';
import { EXIT } from '../lib/errors.js';
import type { Lock } from '../lib/lock.js';
import { adviceOnSelection, beganOf, lockCursor, readCursor, selectionText, startOf } from './cursor.js';
import { runForEach } from './consumer.js';
import { intoConsumer, ontoStdout, statusOf, type DeliveryTalk, type StandardOutput } from './cursor-move.js';
import { follow, inBatches, runInSlices, type Following } from './follow.js';
import { runQuery, kindOf, selectionOf } from './query.js';
import { isWorthSplitting, RangeThread } from './ranges.js';
import type { StreamSink } from './sink.js';
import { openSource } from './open-source.js';
import { LocalSource, type Source } from './source.js';
import type { Delivery, PlacedDelivery, Query } from './types.js';

/**
 * Answers one query.
 * @param stdout standard output; written whole when its `flush` returns
 * @param following what `follows` needs; its `stop` ends batches as well
 * @returns the exit status: 0, 1 when rows were rejected, or that of the consumer that failed
 * @throws LccError as openSource, lockCursor, readCursor, startOf; `io` when the consumer did
 * not take everything
 */
export async function deliver(
  delivery: Delivery,
  stdout: StandardOutput,
  talk: DeliveryTalk,
  following: Following,
): Promise<number> {
  const source = await openSource(delivery);
  try {
    return await deliverFrom(source, delivery, stdout, talk, following);
  } finally {
    source.close();
  }
}

/** The same from a source that is open, and stays so. */
export async function deliverFrom(
  source: Source,
  delivery: Delivery,
  stdout: StandardOutput,
  talk: DeliveryTalk,
  following: Following,
): Promise<number> {
  const file = delivery.cursor;
  let lock: Lock | undefined;
  try {
    // To count moves no cursor.
    if (file !== undefined && !delivery.count) {
      lock = lockCursor(file);
      // Another run may have moved it meanwhile, past what was there before.
      await source.look(following.stop);
    }
    const cursor = file === undefined ? undefined : readCursor(file);
    const sinceSeq = file === undefined ? 0 : startOf(file, cursor, source);
    const began = beganOf(cursor, source);
    const query: Query = { ...delivery.query, began, selection: { ...delivery.query.selection, sinceSeq } };
    if (delivery.count) {
      await stdout.write(`${await countOf(source, query, following.stop)}\n`);
      await stdout.flush();
      return EXIT.ok;
    }
    const place = file === undefined ? undefined : { file, of: selectionText(query.selection), began };
    const advice = place && adviceOnSelection(place, cursor);
    if (advice !== undefined) talk.note(advice);
    const { consumer } = delivery;
    const placed = { ...delivery, place };
    if (delivery.follows) return await follow(source, query, placed, stdout, talk, following);
    if (consumer !== undefined && delivery.batch !== undefined)
      return await inBatches(source, query, { ...placed, consumer }, talk, following);
    return await once(source, query, placed, stdout, talk, following.stop);
  } finally {
    lock?.release();
  }
}

/** For a long answer; both have then looked at the same state of the database. */
function startThread(reader: CacheReader, query: Query, delivery: Delivery): RangeThread | undefined {
  const { split, dbPath, machineId, cursor } = delivery;
  if (split === undefined || !isWorthSplitting(query, reader)) return undefined;
  const thread = new RangeThread({ ...split, dbPath, machineId }, query);
  try {
    const together = thread.lookTogether(reader);
    // Purged changes may be more than the cursor bears.
    if (cursor !== undefined) startOf(cursor, readCursor(cursor), reader);
    if (together) return thread;
  } catch (error) {
    thread.stop();
    throw error;
  }
  thread.stop();
  return undefined;
}

async function once(
  source: Source,
  query: Query,
  delivery: PlacedDelivery,
  stdout: StandardOutput,
  talk: DeliveryTalk,
  stop: AbortSignal,
): Promise<number> {
  const { consumer, place } = delivery;
  // Nothing of the database is held while other machines are waited for.
  const isHere = source instanceof LocalSource && !source.brings(query);
  const reader = isHere ? source.reader : undefined;
  const thread = reader && startThread(reader, query, delivery);
  // Both have looked again.
  if (thread !== undefined) await delivery.shipped?.();
  const answer = (open: () => StreamSink, whenEmpty: boolean) =>
    reader === undefined
      ? runInSlices(source, query, open, stop, talk, whenEmpty)
      : runQuery(reader, query, { open, whenEmpty }, talk, thread);
  const { storeId } = source;
  try {
    const result =
      consumer === undefined
        ? await ontoStdout(storeId, () => answer(() => stdout, true), place, stdout)
        : await intoConsumer(storeId, open => answer(open, false), runForEach(consumer), place, talk);
    return typeof result === 'number' ? result : statusOf(result, talk);
  } finally {
    thread?.stop();
  }
}

/** How many records there would be: `lccq --count`. */
async function countOf(source: Source, query: Query, stop: AbortSignal): Promise<number> {
  const kind = kindOf(query.format);
  const selection = selectionOf(query);
  const { limit = Infinity } = query;
  if (source instanceof LocalSource && kind === 'rows')
    return Math.min(source.reader.count(selection), limit);
  let count = 0;
  if (source instanceof LocalSource) {
    // In one snapshot: what is replaced meanwhile would be in no window.
    for (const _ of source.reader[kind](selection, ['seq'])) if (++count === limit) break;
    return count;
  }
  const range = { since: selection.sinceSeq ?? 0, to: source.highWater, limit, began: query.began ?? 0 };
  const writer = { columns: [], record: () => '' };
  for await (const window of source.windows(query, range, writer, stop)) count += window.count;
  return count;
}
