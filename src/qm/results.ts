/**
 * Results on their way into the database: many a transaction, since each commit waits for the disk and writes
 * every page it touched. A batch is written when it is large, or a moment after its first result, or, while
 * results keep coming and none of them ends its set, at the end of a window. Between two commits is time that
 * grows with what they take, so that they fill no more than a fifth of it, or a third when somebody waits for
 * the end of a set; one that took long among short ones does not make others wait. A disk that is full is
 * tried again later; nothing is lost but time. What a commit made of the results is returned by it, and
 * changes what is in memory only then (dispatch.ts).
 *
 * Sets of which nothing is left ride on the same transaction: with many small sets one of their own would be
 * made as often again as for results. A set that a crash leaves there is found empty by the next start.
 */
import type { SentRequest, Outcome } from '../db/queue/results.js';
import type { QueueStore } from '../db/queue/store.js';
import type { WaitingSet } from '../db/queue/sets.js';
import type { Clock } from '../lib/clock.js';
import { step } from '../lib/steps.js';
import { UNPERMITTED } from '../wire/codes.js';
import type { FetchDone, FetchRecalled, FetchResult } from '../wire/fetch.js';
import type { Hours } from '../config/hours.js';
import type { OriginNews } from './robots-gate/gate.js';

export interface Arrival {
  /** `backoffs`: the provider's failures when it was sent; further ones of the same outage count once. */
  sent: SentRequest & { set: WaitingSet; tries: number; backoffs: number; len: number | null };
  /** Undefined: its turn came and it had been deleted, or its hours did not permit it. */
  result: FetchDone | undefined;
  /** The hours that did not permit it. */
  hours?: Hours | undefined;
  /** News of the origin of a url that nobody announced; without a result: its robots.txt was asked for in its
   * place, or the origin did not answer. */
  news?: OriginNews | undefined;
  /** Nobody announced it, and when its turn came it was there, or known not to be had. */
  isNeedless?: boolean;
}

/** A result after its commit. */
export interface Settled {
  arrival: Arrival;
  outcome: Outcome;
  /** True if it ends an outage of its provider's site. */
  isAnswer: boolean;
}

export interface ResultBatchOptions {
  store: QueueStore;
  clock: Clock;
  /** Inside the transaction: makes a row wait for its hours. */
  postpone: (taken: Arrival['sent'], hours: Hours) => Outcome;
  /** Inside the transaction: writes what is known of an origin. */
  learn: (news: OriginNews) => void;
  /** Inside the transaction, for each result: writes what it says of its provider's site. @returns whether it
   * ends an outage */
  alongside: (arrival: Arrival) => boolean;
  /** Inside the transaction, after all results. */
  close: () => void;
  /** The transaction is committed. */
  committed: (results: readonly Settled[], tookMs: number) => void;
  /** The transaction failed; true: try again later. */
  failed: (error: unknown) => boolean;
  /** Undefined: always. */
  mayCommit?: (() => boolean) | undefined;
}

const BATCH = 1024;
const DELAY_MS = 5;
const WINDOW_MS = 50;
/** Fewer in DELAY_MS, and there is no stream of results worth waiting for. */
const STREAM = 4;
/** Pause between two commits, in commits … */
const SHARE = 4;
/** … and when somebody's set is done with the next one. */
const AWAITED_SHARE = 2;
const LONGEST_DELAY_MS = 100;
const RETRY_MS = 1000;
/** Until the next try where nothing may be committed. */
const HELD_MS = 20;
/** Longest wait of a finished set for results. */
const LONGEST_SET_WAIT_MS = 100;

/** An error is one when its provider is told; until then it is tried again, and counted as `retries`. */
const COUNTED_AS = { ok: 'stored', unchanged: 'unchanged', redirect: 'redirects', error: 'errors' } as const;

export class ResultBatch {
  readonly #options: ResultBatchOptions;
  readonly #counts = {
    stored: 0,
    unchanged: 0,
    redirects: 0,
    errors: 0,
    retries: 0,
    unpermitted: 0,
    wire_bytes: 0,
  };
  #unpermittedAtMs: number | null = null;
  /** Sets of which nothing is left. */
  #finished: WaitingSet[] = [];
  #cancelFinish: (() => void) | undefined;
  #pending: Arrival[] = [];
  #deletedFids: number[] = [];
  #cancel: (() => void) | undefined;
  /** Milliseconds of the last two commits, and the end of the last one. */
  #commitsMs: [number, number] = [0, 0];
  #committedMs = -Infinity;
  #firstMs = 0;
  /** When they are committed, or looked at again. */
  #dueMs = 0;
  /** One of those pending was the last of its set: somebody's small set is done. */
  #isAwaited = false;
  /** How many were pending at the last look. */
  #seen = 0;
  #stuck = false;

  constructor(options: ResultBatchOptions) {
    this.#options = options;
  }

  /** Results not yet committed. */
  get size(): number {
    return this.#pending.length;
  }

  /** True if any of the provider is not yet committed. */
  has(pid: number): boolean {
    return this.#pending.some(({ sent }) => sent.pid === pid);
  }

  /** The disk is full, or nothing may be committed: nothing more should be asked for. */
  get stuck(): boolean {
    return this.#stuck || this.#options.mayCommit?.() === false;
  }

  /** Fetches since the start, by what came of them. */
  get counts() {
    return { ...this.#counts, unpermitted_at_ms: this.#unpermittedAtMs };
  }

  /** Something came over the wire, of a page or a robots.txt; it is counted. */
  arrived(result: Exclude<FetchResult, FetchRecalled>): void {
    this.#counts.wire_bytes += result.wireBytes;
    if (result.status !== 'error' || result.code !== UNPERMITTED) return;
    this.#counts.unpermitted++;
    this.#unpermittedAtMs = this.#options.clock.nowMs();
  }

  /** @param endsSet nothing else of its set is on its way, nor waits to be sent */
  add(arrival: Arrival, endsSet = false): void {
    this.#pending.push(arrival);
    if (endsSet && !this.#isAwaited) this.#hasten();
    this.#schedule();
  }

  /** A freed file was deleted on its machine. */
  deleted(fid: number): void {
    this.#deletedFids.push(fid);
    this.#schedule();
  }

  /** Nothing is left of these sets. @param resultsFollow there will be a transaction of results soon, or it
   * is likely */
  finish(sets: readonly WaitingSet[], resultsFollow: boolean): void {
    this.#finished.push(...sets);
    if (!resultsFollow) this.#removeFinished();
    else this.#cancelFinish ??= this.#options.clock.after(LONGEST_SET_WAIT_MS, () => this.#removeFinished());
  }

  /** Writes everything now. */
  stop(): void {
    this.#write();
    this.#removeFinished();
  }

  /** Writes the results now, unless nothing may be committed: soon. */
  flush(): void {
    if (this.#options.mayCommit?.() === false) this.#later(HELD_MS);
    else this.#write();
  }

  #write(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#pending.length === 0 && this.#deletedFids.length === 0) return;
    const { store, clock, close, committed, failed } = this.#options;
    const startedMs = clock.monotonicMs();
    const nowS = Math.floor(clock.nowMs() / 1000);
    let results: Settled[];
    try {
      results = store.transaction(() => {
        for (const fid of this.#deletedFids) store.freed.remove(fid);
        const each = this.#pending.map(arrival => this.#settle(arrival, nowS));
        close();
        this.#removeSets();
        return each;
      });
    } catch (error) {
      this.#stuck = failed(error);
      if (this.#stuck) this.#later(RETRY_MS);
      return;
    }
    step('qm.result.committed');
    this.#stuck = false;
    this.#committedMs = clock.monotonicMs();
    const tookMs = this.#committedMs - startedMs;
    this.#commitsMs = [this.#commitsMs[1], tookMs];
    this.#isAwaited = false;
    this.#pending = [];
    this.#deletedFids = [];
    this.#seen = 0;
    for (const { arrival, outcome } of results) this.#count(arrival.result, outcome);
    this.#setsRemoved();
    committed(results, tookMs);
  }

  #settle(arrival: Arrival, nowS: number): Settled {
    const { store, postpone, learn, alongside } = this.#options;
    const { sent, result, hours, news, isNeedless } = arrival;
    let outcome: Outcome;
    if (news !== undefined) learn(news);
    if (isNeedless === true) outcome = store.results.needless(sent);
    else if (hours !== undefined) outcome = postpone(sent, hours);
    else outcome = store.results.apply(sent, result, nowS);
    return { arrival, outcome, isAnswer: alongside(arrival) };
  }

  #count(result: FetchDone | undefined, outcome: Outcome): void {
    if (result === undefined) return;
    const isRetry = result.status === 'error' && outcome !== 'done';
    this.#counts[isRetry ? 'retries' : COUNTED_AS[result.status]]++;
  }

  /** Removes finished sets in a transaction of their own. */
  #removeFinished(): void {
    if (this.#finished.length === 0) return;
    const { store, failed } = this.#options;
    try {
      store.transaction(() => this.#removeSets());
    } catch (error) {
      // Only empty entries of qpsdb remain; they are found empty after the next start.
      failed(error);
    }
    this.#setsRemoved();
  }

  #removeSets(): void {
    const { queue } = this.#options.store;
    // Rows may be back in their set by now, because their hours have come.
    for (const set of this.#finished) if (!queue.hasRows(set)) queue.removeSet(set);
  }

  #setsRemoved(): void {
    this.#cancelFinish?.();
    this.#cancelFinish = undefined;
    if (this.#finished.length === 0) return;
    this.#finished = [];
    step('qm.set.finished');
  }

  #schedule(): void {
    if (this.#stuck) return;
    if (this.#pending.length >= BATCH) {
      this.flush();
    } else if (this.#cancel === undefined) {
      this.#firstMs = this.#options.clock.monotonicMs();
      this.#later(this.#delayMs());
    }
  }

  /** Somebody waits for what has just come: what was planned may be later than that deserves. */
  #hasten(): void {
    this.#isAwaited = true;
    const delayMs = this.#delayMs();
    const isPlanned = this.#cancel !== undefined && !this.#stuck;
    if (isPlanned && this.#options.clock.monotonicMs() + delayMs < this.#dueMs) this.#later(delayMs);
  }

  #delayMs(): number {
    const share = this.#isAwaited ? AWAITED_SHARE : SHARE;
    const pauseMs = Math.min(LONGEST_DELAY_MS, share * Math.min(...this.#commitsMs));
    return Math.max(DELAY_MS, this.#committedMs + pauseMs - this.#options.clock.monotonicMs());
  }

  #isStreaming(): boolean {
    const come = this.#pending.length - this.#seen;
    this.#seen = this.#pending.length;
    return come >= STREAM && this.#options.clock.monotonicMs() - this.#firstMs < WINDOW_MS;
  }

  #later(delayMs: number): void {
    this.#cancel?.();
    this.#dueMs = this.#options.clock.monotonicMs() + delayMs;
    this.#cancel = this.#options.clock.after(delayMs, () => {
      this.#cancel = undefined;
      if (!this.#stuck && !this.#isAwaited && this.#isStreaming()) this.#later(DELAY_MS);
      else this.flush();
    });
  }
}
