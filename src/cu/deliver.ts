/** A query answered for lccq: counted, written once, or followed; the cursor is locked meanwhile. */
import { CacheReader } from '../db/cache/read.js';
import { EXIT } from '../lib/errors.js';
import type { Lock } from '../lib/lock.js';
import { adviceOnSelection, beganOf, lockCursor, readCursor, selectionText, startOf } from './cursor.js';
import { runForEach } from './consumer.js';
import { intoConsumer, ontoStdout, statusOf, type DeliveryTalk, type StandardOutput } from './cursor-move.js';
import { follow, inBatches, type Following } from './follow.js';
import { runQuery, kindOf, selectionOf } from './query.js';
import { isWorthSplitting, RangeThread } from './ranges.js';
import type { Delivery, PlacedDelivery, Query } from './types.js';

/**
 * Answers one query.
 * @param stdout standard output; written whole when its `flush` returns
 * @param following what `follows` needs; its `stop` ends batches as well
 * @returns the exit status: 0, 1 when rows were rejected, or that of the consumer that failed
 * @throws LccError as CacheReader, lockCursor, readCursor, startOf; `io` when the consumer did not take
 * everything
 */
export async function deliver(
  delivery: Delivery,
  stdout: StandardOutput,
  talk: DeliveryTalk,
  following: Following,
): Promise<number> {
  const file = delivery.cursor;
  const reader = new CacheReader(delivery.dbPath, delivery.machineId);
  let lock: Lock | undefined;
  try {
    // To count moves no cursor.
    if (file !== undefined && !delivery.count) {
      lock = lockCursor(file);
      // Another run may have moved it meanwhile, past what was there before.
      reader.renew();
    }
    const cursor = file === undefined ? undefined : readCursor(file);
    const sinceSeq = file === undefined ? 0 : startOf(file, cursor, reader);
    const began = beganOf(cursor, reader);
    const query: Query = { ...delivery.query, began, selection: { ...delivery.query.selection, sinceSeq } };
    if (delivery.count) {
      await stdout.write(`${countOf(reader, query)}\n`);
      await stdout.flush();
      return EXIT.ok;
    }
    const place = file === undefined ? undefined : { file, of: selectionText(query.selection), began };
    const advice = place && adviceOnSelection(place, cursor);
    if (advice !== undefined) talk.note(advice);
    const { consumer } = delivery;
    const placed = { ...delivery, place };
    if (delivery.follows) return await follow(reader, query, placed, stdout, talk, following);
    if (consumer !== undefined && delivery.batch !== undefined)
      return await inBatches(reader, query, { ...placed, consumer }, talk, following);
    return await once(reader, query, placed, stdout, talk, startThread(reader, query, delivery));
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
  reader: CacheReader,
  query: Query,
  { consumer, place }: PlacedDelivery,
  stdout: StandardOutput,
  talk: DeliveryTalk,
  thread: RangeThread | undefined,
): Promise<number> {
  const answer = (output: Parameters<typeof runQuery>[2]) => runQuery(reader, query, output, talk, thread);
  try {
    const result =
      consumer === undefined
        ? await ontoStdout(reader, () => answer({ open: () => stdout, whenEmpty: true }), place, stdout)
        : await intoConsumer(
            reader,
            open => answer({ open, whenEmpty: false }),
            runForEach(consumer),
            place,
            talk,
          );
    return typeof result === 'number' ? result : statusOf(result, talk);
  } finally {
    thread?.stop();
  }
}

/** How many records there would be: `lccq --count`. */
function countOf(reader: CacheReader, query: Query): number {
  const kind = kindOf(query.format);
  const selection = selectionOf(query);
  if (kind === 'rows') return Math.min(reader.count(selection), query.limit ?? Infinity);
  let count = 0;
  for (const _ of reader[kind](selection, ['seq'])) if (++count === query.limit) break;
  return count;
}
