/**
 * Changes since the last run, for a consumer; the cursor moves on only when the consumer has taken them.
 *
 *     state        what happens                                       cursor
 *     locked       cursor read, checked against the snapshot          unmoved
 *     streaming    records into CMD, or to standard output            unmoved; FILE.next removed
 *     written      CMD: its input ended, waited for                   unmoved; pipe: FILE.next offered
 *     taken        CMD exited 0 and had read all, or, where it stays,
 *                  wrote `ok`; pipe: `commit`                         moved, durably
 *
 * With --follow the states repeat, with one run of CMD per round; on standard output it is one stream, and
 * FILE.next is offered when it was ended in good order (follow.ts). After a crash the cursor has not moved:
 * the same changes are sent again, which every format tolerates.
 */
import { EXIT, LccError } from '../lib/errors.js';
import { ConsumerGone, type Consumer, type ConsumerProgram } from './consumer.js';
import { advanceCursor, cursorAt, dropNext, offerNext, type CursorPlace, type FileCursor } from './cursor.js';
import type { QueryResult, QueryTalk } from './query.js';
import type { StreamSink } from './sink.js';

export interface DeliveryTalk extends QueryTalk {
  /** Explanations, where wanted. */
  explain(message: string): void;
  /** The running consumer, so that signals can be passed on. */
  started(consumer: Consumer): void;
  /** The consumer has ended by itself. */
  ended(): void;
}

export type StandardOutput = StreamSink & { flush(): void | Promise<void> };

/** Writes an answer to standard output, and offers FILE.next after its last byte. */
export async function ontoStdout(
  storeId: string,
  answer: () => Promise<QueryResult>,
  place: CursorPlace | undefined,
  stdout: StandardOutput,
): Promise<QueryResult> {
  if (place !== undefined) dropNext(place.file);
  const result = await answer();
  await stdout.flush();
  if (place !== undefined) offerNext(place.file, cursorOf(storeId, result, place));
  return result;
}

/**
 * Writes an answer into a consumer, and moves the cursor on when that has taken everything and succeeded.
 * @returns the result, or the status of a consumer that failed
 * @throws LccError `io` when the consumer did not take everything
 */
export async function intoConsumer(
  storeId: string,
  answer: (open: () => StreamSink) => Promise<QueryResult>,
  program: ConsumerProgram,
  place: CursorPlace | undefined,
  talk: DeliveryTalk,
): Promise<QueryResult | number> {
  let consumer: Consumer | undefined;
  const open = () => {
    consumer = program.start();
    talk.started(consumer);
    return consumer;
  };
  let result: QueryResult | undefined;
  try {
    result = await answer(open);
  } catch (error) {
    if (!(error instanceof ConsumerGone)) {
      // The consumer must not take the end of a broken stream for the end of a whole one.
      consumer?.kill('SIGTERM');
      throw error;
    }
  }
  const unmoved = place === undefined ? '' : `; ${place.file} not moved`;
  if (consumer !== undefined) {
    const end = await consumer.finish();
    talk.ended();
    if (end.status !== 0) {
      talk.reject(`${program.name} ${end.what}${unmoved}`);
      return end.status;
    }
    if (!end.tookAll || result === undefined)
      throw new LccError('io', `${program.name} ended before it had read everything${unmoved}`);
  }
  if (result === undefined) throw new LccError('bug', 'a stream without a consumer was cut');
  if (place !== undefined) advanceCursor(place.file, cursorOf(storeId, result, place));
  return result;
}

function cursorOf(storeId: string, { reachedSeq }: QueryResult, place: CursorPlace): FileCursor {
  const { of, began = 0 } = place;
  return { ...cursorAt(storeId, reachedSeq, began), ...(of === undefined ? {} : { of }) };
}

/** The exit status of an answer that was taken. */
export function statusOf(result: QueryResult, talk: DeliveryTalk): number {
  const replaced =
    result.replaced === 0 ? '' : `, ${result.replaced} of them replaced meanwhile and left out`;
  talk.explain(`${result.records} records, up to change ${result.reachedSeq}${replaced}`);
  return result.rejected === 0 ? EXIT.ok : EXIT.someRejected;
}
