/**
 * How long sites are left alone: because they did not answer, because they asked for it, because of the bandwidth they or
 * the LCC as a whole may use. What a restart must not forget is written with the results that made it so.
 */
import type { Provider } from '../db/queue/providers.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';
import { STORE_FULL } from '../wire/codes.js';
import type { FetchDone, FetchFailed } from '../wire/fetch.js';
import { backoffMs, type BackoffRules } from './backoff.js';
import type { Arrival } from './results.js';
import type { LaneTable } from './schedule/lanes.js';
import { Pace } from './schedule/pace.js';

/** Longest wait for room, in first waits: some minutes. */
const ROOMLESS_WAITS = 32;

export interface WaitOptions {
  store: QueueStore;
  clock: Clock;
  log: Log;
  backoff: BackoffRules;
  /** Wait before a bad url is tried again; doubled each time, as far as `backoff` permits. */
  retryDelayMs: number;
  /** Of all providers together; 0 = unlimited. */
  bandwidthBytesPerS: number;
  /** 0 to 1, for jitter. */
  random: () => number;
}

/** A provider, and for how long it waits. */
export interface Paced {
  provider: Provider;
  pace: Pace;
  /** Monotonic. */
  backoffUntilMs: number;
  /** As far as that was asked for (`Retry-After`) since the start, monotonic. */
  patienceUntilMs?: number | undefined;
  /** Why it is left alone, as far as that was heard since the start: code and host. */
  failure?: { code: number; host: string } | undefined;
}

export class Waits {
  readonly #options: WaitOptions;
  readonly #table: LaneTable;
  readonly #whole: Pace;
  /** Whose results are in this transaction. */
  readonly #moved = new Set<Paced>();

  /** @param table is told who has to wait */
  constructor(options: WaitOptions, table: LaneTable) {
    this.#options = options;
    this.#table = table;
    const { store, clock, backoff } = options;
    store.transaction(() => store.providers.shortenDelays(clock.nowMs() + backoff.maxMs));
    const dueMs = this.#fromWall(options.store.providers.wholeDueMs);
    this.#whole = new Pace(options.bandwidthBytesPerS, dueMs, options.backoff.maxMs);
  }

  /** What was written of the provider. */
  begin(provider: Provider): Paced {
    return {
      provider,
      pace: new Pace(provider.bandwidth, this.#fromWall(provider.dueat), this.#options.backoff.maxMs),
      backoffUntilMs: this.#fromWall(provider.backoffuntil * 1000),
    };
  }

  /** When the LCC as a whole may fetch again, monotonic. */
  get wholeDueMs(): number {
    return this.#whole.isLimited ? this.#whole.dueMs : -Infinity;
  }

  /** Whether what is sent to the provider must not run ahead of what is fetched. */
  isLimited(provider: Provider): boolean {
    return provider.bandwidth > 0 || this.#whole.isLimited;
  }

  /** The provider may have another limit now. */
  settingsOf(paced: Paced): void {
    paced.pace.bytesPerS = paced.provider.bandwidth;
    this.#tell(paced);
  }

  /** A url announced with `len` bytes is sent. @returns what is expected of it, for `arrived` or `recalled` */
  charge(paced: Paced, len: number | null, nowMs: number): number {
    const { pace } = paced;
    if (!pace.isLimited && !this.#whole.isLimited) return 0;
    const bytes = (pace.isLimited ? pace : this.#whole).expected(len);
    this.#whole.charge(bytes, nowMs);
    if (pace.isLimited) {
      pace.charge(bytes, nowMs);
      this.#tell(paced);
    }
    return bytes;
  }

  /** It took so many bytes. */
  arrived(paced: Paced | undefined, expected: number, bytes: number, nowMs: number): void {
    this.#whole.correct(expected, bytes, nowMs);
    if (paced?.pace.isLimited !== true) return;
    paced.pace.correct(expected, bytes, nowMs);
    this.#tell(paced);
  }

  /** It came back as if it had never been sent. */
  recalled(paced: Paced | undefined, expected: number, nowMs: number): void {
    this.#whole.refund(expected, nowMs);
    if (paced?.pace.isLimited !== true) return;
    paced.pace.refund(expected, nowMs);
    this.#tell(paced);
  }

  /**
   * What an error says beyond its url: a site that does not answer, or asks to be left alone.
   * @param sentBackoffs the provider's failures when the request was sent: those of one outage count once
   * @param url what was asked for
   */
  heed(paced: Paced, sentBackoffs: number, result: FetchFailed, url: string): void {
    const { provider } = paced;
    const { clock, backoff, random, log } = this.#options;
    let waitMs = 0;
    if (result.reach === 'provider') {
      if (sentBackoffs !== provider.backoffs) return;
      provider.backoffs++;
      waitMs = backoffMs(backoff, provider.backoffs, random());
    }
    const patienceMs = Math.min(result.retryAfterMs ?? 0, backoff.maxMs);
    waitMs = Math.max(waitMs, patienceMs);
    if (waitMs === 0) return;
    const host = hostOf(url);
    const nowMs = clock.monotonicMs();
    paced.failure = { code: result.code, host };
    paced.backoffUntilMs = Math.max(paced.backoffUntilMs, nowMs + waitMs);
    if (patienceMs > 0) paced.patienceUntilMs = Math.max(paced.patienceUntilMs ?? 0, nowMs + patienceMs);
    provider.backoffuntil = Math.ceil(this.#toWall(paced.backoffUntilMs) / 1000);
    this.#tell(paced);
    const { pid } = provider;
    this.#table.recallAll(pid);
    log.info('provider is left alone', {
      pid,
      wait_ms: waitMs,
      code: result.code,
      host,
      reason: result.message,
    });
  }

  /**
   * Another of its hosts may answer: it is asked before its wait is over, unless one asked for patience. What is known of its
   * failures stays.
   */
  askNow(paced: Paced): void {
    paced.backoffUntilMs = paced.patienceUntilMs ?? 0;
    this.#tell(paced);
  }

  /** The wait of a url that has failed `tries` times. Room comes back unasked: what waits for it is tried every few minutes. */
  retryMs(tries: number, result: FetchDone | undefined): number {
    const { retryDelayMs, backoff } = this.#options;
    const isRoomless = result?.status === 'error' && result.code === STORE_FULL;
    const longestMs = isRoomless ? Math.max(retryDelayMs, backoff.minMs) * ROOMLESS_WAITS : backoff.maxMs;
    return Math.min(retryDelayMs * 2 ** (tries - 1), longestMs, backoff.maxMs);
  }

  /** Notes what a result says of its provider's site. Inside the transaction of the result. */
  note(paced: Paced, { sent, result }: Arrival): void {
    if (result === undefined) return;
    if (paced.pace.isLimited || this.#whole.isLimited) this.#moved.add(paced);
    const { provider } = paced;
    const { providers } = this.#options.store;
    const answered = result.status !== 'error' || result.reach !== 'provider';
    const asksForPatience = result.status === 'error' && result.retryAfterMs !== undefined;
    // Only what was sent after the last failure shows that the site answers again.
    if (answered && this.#isToForget(paced) && sent.backoffs === provider.backoffs) {
      if (asksForPatience) provider.backoffs = 0;
      else this.#forgetBackoff(paced);
      this.#tell(paced);
      providers.setBackoff(provider.pid, 0, provider.backoffuntil);
    } else if (!answered || asksForPatience) {
      providers.setBackoff(provider.pid, provider.backoffs, provider.backoffuntil);
    }
  }

  /** Notes what the results of a transaction have moved. Inside it, behind them. */
  close(): void {
    const { providers } = this.#options.store;
    if (this.#moved.size === 0) return;
    for (const { provider, pace } of this.#moved)
      if (pace.isLimited) providers.setDue(provider.pid, this.#toWall(pace.dueMs));
    if (this.#whole.isLimited) providers.setWholeDue(this.#toWall(this.#whole.dueMs));
    this.#moved.clear();
  }

  /** The operator wants it to be asked now; what is written of it is forgotten already. */
  forget(paced: Paced): void {
    paced.pace.dueMs = 0;
    this.#forgetBackoff(paced);
  }

  /** The same of all together. */
  forgetWhole(): void {
    this.#whole.dueMs = 0;
    const { store } = this.#options;
    if (this.#whole.isLimited) store.transaction(() => store.providers.setWholeDue(0));
  }

  /** Whether failures or a wait are noted that are over when the site answers; one that is not may be of a wrong clock. */
  #isToForget({ provider, backoffUntilMs }: Paced): boolean {
    const { clock } = this.#options;
    if (provider.backoffs > 0) return true;
    return backoffUntilMs <= clock.monotonicMs() && provider.backoffuntil * 1000 > clock.nowMs();
  }

  #forgetBackoff(paced: Paced): void {
    paced.provider.backoffs = 0;
    paced.provider.backoffuntil = 0;
    paced.backoffUntilMs = 0;
    paced.patienceUntilMs = undefined;
    paced.failure = undefined;
    this.#tell(paced);
  }

  #tell({ provider, pace, backoffUntilMs }: Paced): void {
    this.#table.delay(provider.pid, Math.max(backoffUntilMs, pace.isLimited ? pace.dueMs : 0));
    this.#table.setProbing(provider.pid, provider.backoffs > 0);
  }

  /** A clock that was set back must not make a wait longer than any can be. */
  #fromWall(atMs: number): number {
    const { clock, backoff } = this.#options;
    return clock.monotonicMs() + Math.min(atMs - clock.nowMs(), backoff.maxMs);
  }

  #toWall(atMs: number): number {
    const { clock } = this.#options;
    return clock.nowMs() + (atMs - clock.monotonicMs());
  }
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}
