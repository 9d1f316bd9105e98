/**
 * Results on their way into the database: many a transaction, since each commit waits for the disk and writes every
 * page it touched. A batch is written when it is large, or a moment after its first result, or, while results keep
 * coming and none of them ends its set, at the end of a window. Between two commits is time that grows with what they take,
 * so that they fill no more than a fifth of it, or a third when somebody waits for the end of a set; one that took long
 * among short ones does not make others wait. A disk that is full is tried again later; nothing is lost but time.
 */
import type { SentRequest, Outcome } from '../db/queue/results.js';
import type { QueueStore } from '../db/queue/store.js';
import type { WaitingSet } from '../db/queue/sets.js';
import type { Clock } from '../lib/clock.js';
import { step } from '../lib/steps.js';
import type { FetchDone } from '../wire/fetch.js';
import type { Hours } from '../config/hours.js';
import type { OriginNews } from './robots-gate/gate.js';

export interface Arrival {
  /** `backoffs`: the provider's failures when it was sent; further ones of the same outage count once. */
  sent: SentRequest & { set: WaitingSet; tries: number; backoffs: number; len: number | null };
  /** Undefined: its turn came and it had been deleted, or its hours did not permit it. */
  result: FetchDone | undefined;
  /** The hours that did not permit it. */
  hours?: Hours | undefined;
  /**
   * What it says of its origin, where nobody announced it; without a result: its robots.txt was asked for in its place, or the origin
   * did not answer.
   */
  news?: OriginNews | undefined;
  /** Nobody announced it, and when its turn came it was there, or known not to be had. */
  isNeedless?: boolean;
}

export interface ResultBatchOptions {
  store: QueueStore;
  clock: Clock;
  /** Inside the transaction: makes a row wait for its hours. */
  postpone: (taken: Arrival['sent'], hours: Hours) => Outcome;
  /** Inside the transaction: writes what is known of an origin. */
  learn: (news: OriginNews) => void;
  /** Inside the transaction, for each result: what else it changes in the database. */
  alongside: (arrival: Arrival) => void;
  /** Inside the transaction, after all results. */
  close: () => void;
  /** The transaction is committed. */
  committed: (arrivals: readonly Arrival[], outcomes: readonly Outcome[], tookMs: number) => void;
  /** The transaction failed; true: try again later. */
  failed: (error: unknown) => boolean;
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

export class ResultBatch {
  readonly #options: ResultBatchOptions;
  #pending: Arrival[] = [];
  #deletedFids: number[] = [];
  #cancel: (() => void) | undefined;
  /** What the last two commits took, and when the last one ended. */
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

  /** The disk is full: nothing more should be asked for. */
  get stuck(): boolean {
    return this.#stuck;
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

  /** Writes everything now. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#pending.length === 0 && this.#deletedFids.length === 0) return;
    const { store, clock, postpone, learn, alongside, close, committed, failed } = this.#options;
    const startedMs = clock.monotonicMs();
    const nowS = Math.floor(clock.nowMs() / 1000);
    let outcomes: Outcome[];
    try {
      outcomes = store.transaction(() => {
        for (const fid of this.#deletedFids) store.freed.remove(fid);
        const each = this.#pending.map(arrival => {
          const { sent, result, hours, news, isNeedless } = arrival;
          let outcome: Outcome;
          if (news !== undefined) learn(news);
          if (news !== undefined && result === undefined) outcome = 'again';
          else if (isNeedless === true) outcome = store.results.needless(sent);
          else if (hours !== undefined) outcome = postpone(sent, hours);
          else outcome = store.results.apply(sent, result, nowS);
          alongside(arrival);
          return outcome;
        });
        close();
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
    const arrivals = this.#pending;
    this.#pending = [];
    this.#deletedFids = [];
    this.#seen = 0;
    committed(arrivals, outcomes, tookMs);
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
