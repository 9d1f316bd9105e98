/**
 * Several homes of one LCC, asked one after the other (`lccq --all`): each snapshot is taken when its turn
 * has come, each home has a cursor and a whole stream of its own. A home that does not answer keeps its
 * cursor, and the others move.
 */
import { readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { MINUTE, SECOND } from '../config/amounts.js';
import { backoffMs } from '../lib/backoff.js';
import { stayFor, type Clock } from '../lib/clock.js';
import { EXIT, exitStatusOf, LccError, reasonOf } from '../lib/errors.js';
import { commitNext, dropNext, readCursor } from './cursor.js';
import type { DeliveryTalk, StandardOutput } from './cursor-move.js';
import { deliverFrom } from './deliver.js';
import type { Following } from './follow.js';
import { openSource } from './open-source.js';
import type { RemoteOptions } from './remote/link.js';
import type { Source } from './source.js';
import type { Delivery } from './types.js';

/** A home as it is asked. */
export interface AskedShard {
  shard: number;
  /** The lccd-cu of its owner, the same object as long as the owner is; undefined: no machine owns it. */
  from: RemoteOptions | undefined;
}

/** Homes there are, in the order of their numbers. */
export type ShardList = (stop: AbortSignal) => Promise<readonly AskedShard[]>;

/** Between two rounds; and until one that did not answer is asked again. */
export const LOOK_MS = SECOND;
const WAITS = { minMs: SECOND, maxMs: MINUTE };

/** Failures that concern the home that is asked, and no other. */
const OF_ONE: readonly string[] = [
  'peer.unavailable',
  'peer.busy',
  'peer.rejected',
  'peer.protocol',
  'auth.refused',
  'try.later',
  'data.refused',
  'data.malformed',
];

export function isOfOne(error: unknown): error is LccError {
  return error instanceof LccError && OF_ONE.includes(error.code);
}

/** @throws LccError `try.later` */
export function mustBeOwned(from: RemoteOptions | undefined): RemoteOptions {
  if (from === undefined) throw new LccError('try.later', 'no machine owns it; start its lccd');
  return from;
}

/** A program that failed, or a stream that was cut on standard output: no other home is asked. */
class Over extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`status ${status}`);
    this.status = status;
  }
}

/** The cursor of a home beside those of the others. */
export function shardCursor(file: string, shard: number): string {
  return `${file}.${shard}`;
}

/**
 * Does something for each home. @param work gives its status @param failed hears of each that failed
 * @returns 75 where one did not answer, else the status of a failure, else 1 where one gave that
 */
export async function forEachShard(
  shards: readonly AskedShard[],
  work: (from: RemoteOptions, shard: number) => Promise<number>,
  failed: (shard: number, error: LccError) => void,
): Promise<number> {
  const statuses: number[] = [];
  for (const { shard, from } of shards)
    try {
      statuses.push(await work(mustBeOwned(from), shard));
    } catch (error) {
      if (!isOfOne(error)) throw error;
      failed(shard, error);
      statuses.push(error.code === 'peer.unavailable' ? EXIT.tempfail : exitStatusOf(error));
    }
  return statuses.includes(EXIT.tempfail) ? EXIT.tempfail : Math.max(EXIT.ok, ...statuses);
}

/** Answers one query by all homes; with `follows` in rounds, until it is stopped or the program fails. */
export async function deliverAll(
  delivery: Delivery,
  list: ShardList,
  stdout: StandardOutput,
  talk: DeliveryTalk,
  following: Following,
): Promise<number> {
  const { clock, stop } = following;
  const { cursor: file, consumer, follows } = delivery;
  // Cursors that an earlier run left to be committed are not of this one.
  if (file !== undefined && consumer === undefined && !delivery.count)
    for (const shard of shardsBeside(file)) dropNext(shardCursor(file, shard));
  const rounds = new ShardRounds(delivery, stdout, talk, following);
  try {
    for (;;) {
      const status = await rounds.one(await list(stop));
      if (!follows) return status;
      if (stop.aborted) return rounds.isAnyAway ? EXIT.tempfail : EXIT.ok;
      await stayFor(clock, LOOK_MS, stop);
    }
  } catch (error) {
    if (error instanceof Over) return error.status;
    throw error;
  } finally {
    rounds.close();
  }
}

/** Homes that did not answer: how often in a row, and when they are asked again. */
export class AwayShards {
  readonly #away = new Map<number, { count: number; againMs: number }>();
  readonly #clock: Pick<Clock, 'monotonicMs'>;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  get isAny(): boolean {
    return this.#away.size > 0;
  }

  isDue(shard: number): boolean {
    return (this.#away.get(shard)?.againMs ?? 0) <= this.#clock.monotonicMs();
  }

  /** @returns how often in a row */
  failed(shard: number): number {
    const count = (this.#away.get(shard)?.count ?? 0) + 1;
    const againMs = this.#clock.monotonicMs() + backoffMs(WAITS, count, Math.random());
    this.#away.set(shard, { count, againMs });
    return count;
  }

  answered(shard: number): void {
    this.#away.delete(shard);
  }
}

class ShardRounds {
  readonly #delivery: Delivery;
  readonly #stdout: StandardOutput;
  readonly #talk: DeliveryTalk;
  readonly #following: Following;
  /** Connections that are kept from round to round. */
  readonly #sources = new Map<number, { from: RemoteOptions; source: Source }>();
  readonly #away: AwayShards;

  constructor(delivery: Delivery, stdout: StandardOutput, talk: DeliveryTalk, following: Following) {
    this.#delivery = delivery;
    this.#stdout = stdout;
    this.#talk = talk;
    this.#following = following;
    this.#away = new AwayShards(following.clock);
  }

  get isAnyAway(): boolean {
    return this.#away.isAny;
  }

  /** @throws Over */
  async one(shards: readonly AskedShard[]): Promise<number> {
    const due = shards.filter(({ shard }) => this.#away.isDue(shard));
    const status = await forEachShard(
      due,
      (from, shard) => this.#deliver(from, shard),
      (shard, error) => {
        this.#drop(shard);
        if (this.#away.failed(shard) === 1) this.#talk.reject(`shard ${shard}: ${error.message}`);
      },
    );
    return due.length < shards.length ? EXIT.tempfail : status;
  }

  close(): void {
    for (const shard of this.#sources.keys()) this.#drop(shard);
  }

  async #deliver(from: RemoteOptions, shard: number): Promise<number> {
    const { cursor: file, consumer, follows, stays, batch, ...delivery } = this.#delivery;
    const { stop } = this.#following;
    if (stop.aborted) return EXIT.tempfail;
    const cursor = file === undefined ? undefined : shardCursor(file, shard);
    const seq = cursor === undefined ? undefined : readCursor(cursor)?.seq;
    const source = await this.#source(from, shard);
    // A program that stays is for batches: here for one that has all there is.
    const most = follows && stays === true ? (batch ?? Infinity) : batch;
    const one = { ...delivery, cursor, consumer, stays, batch: most, follows: false };
    let isBegun = false;
    const stdout = {
      write: (chunk: string | Uint8Array) => {
        isBegun = true;
        return this.#stdout.write(chunk);
      },
      flush: () => this.#stdout.flush(),
    };
    let status: number;
    try {
      status = await deliverFrom(source, one, stdout, this.#talk, this.#following);
    } catch (error) {
      if (!isBegun || !isOfOne(error)) throw error;
      // A further stream would be taken for the rest of this one.
      this.#talk.reject(`shard ${shard}: ${error.message}`);
      throw new Over(EXIT.tempfail);
    }
    this.#away.answered(shard);
    const isUnmoved = cursor !== undefined && readCursor(cursor)?.seq === seq;
    if (
      consumer !== undefined &&
      status !== EXIT.ok &&
      !stop.aborted &&
      (isUnmoved || status !== EXIT.someRejected)
    )
      throw new Over(status);
    return status;
  }

  async #source(from: RemoteOptions, shard: number): Promise<Source> {
    const kept = this.#sources.get(shard);
    if (kept?.from === from) return kept.source;
    this.#drop(shard);
    const { dbPath, machineId } = this.#delivery;
    const source = await openSource({ dbPath, machineId, from });
    this.#sources.set(shard, { from, source });
    return source;
  }

  #drop(shard: number): void {
    this.#sources.get(shard)?.source.close();
    this.#sources.delete(shard);
  }
}

/** Moves the cursors of all homes whose stream was whole. @returns them @throws LccError as `commitNext` */
export function commitAll(file: string): string[] {
  const moved: string[] = [];
  for (const shard of shardsBeside(file)) {
    const cursor = shardCursor(file, shard);
    try {
      moved.push(`${cursor} moved to change ${commitNext(cursor).seq}`);
    } catch (error) {
      // A home that did not answer has none.
      if (!(error instanceof LccError) || error.code !== 'input.missing') throw error;
    }
  }
  if (moved.length > 0) return moved;
  throw new LccError(
    'input.missing',
    `${file}.N.next: nothing to commit: no stream was written whole; run the pipe again`,
  );
}

/** Homes that have a cursor there, or one to be committed. @throws LccError `output.create` */
function shardsBeside(file: string): number[] {
  const name = `${basename(file)}.`;
  let there: string[];
  try {
    there = readdirSync(dirname(file));
  } catch (error) {
    throw new LccError('output.create', `${dirname(file)}: ${reasonOf(error)}`, { cause: error });
  }
  const found = there
    .filter(each => each.startsWith(name))
    .map(each => /^(\d{1,3})(?:\.next)?$/.exec(each.slice(name.length))?.[1]);
  return [...new Set(found.filter(each => each !== undefined).map(Number))].sort((a, b) => a - b);
}
