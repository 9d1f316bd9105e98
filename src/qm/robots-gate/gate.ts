/**
 * The gate: what nobody announced is fetched only where the robots.txt of its origin permits it, as it is
 * when its turn comes. The turn of the first url of an origin asks for that file, in the provider's lane; the
 * url has its turn again after that.
 *
 *     its turn ──rules are known──▶ fetched, or forbidden (code 615): no request
 *        ▲ ╰────they are not──▶ the file is asked for ──▶ answered ──╮
 *        ├───────────────────────────────────────────────────────────╯
 *        ╰──the time has come── closed ◀── no answer, of the file or of a page, or a wish for patience
 *
 * Nothing that an owner announced comes here, or waits for what is written here (docs/design/spidering.md).
 */
import { isGated, UNASKED, type WaitingRow } from '../../db/queue/row.js';
import type { OriginPause, StoredRobots } from '../../db/queue/robots-txt.js';
import { ROBOTS_FORBID } from '../../wire/codes.js';
import { MAX_INLINE_BYTES, type FetchDone, type FetchFailed, type FetchRequest } from '../../wire/fetch.js';
import { patienceOf } from '../../wire/left-alone.js';
import { productToken } from '../../robots/robots-txt.js';
import { backoffMs } from '../../lib/backoff.js';
import type { DispatchOptions } from '../dispatch-options.js';
import { hostOf } from '../hosts-of.js';
import { refusalOf, type SiteTerms } from '../request.js';
import { OriginRules } from './rules.js';
import { forgottenBefore, isStale, robotsAfter, type RobotsResult } from '../../robots/answer.js';

export type GateOptions = Pick<
  DispatchOptions,
  'store' | 'clock' | 'log' | 'backoff' | 'random' | 'userAgent'
>;

/** Passage of a url now: `ask`: its origin's robots.txt first; `wait`: for that, which is on its way;
 * `closed`: its origin is left alone by what nobody announced. */
export type Passage = 'go' | 'forbidden' | 'ask' | 'wait' | 'closed';

/** News of an origin in a result, for the transaction that takes it up. */
export interface OriginNews {
  origin: string;
  /** Its robots.txt to be kept from now on, where that was asked for. */
  robots?: StoredRobots;
  /** Otherwise for how long it is left alone. */
  pause?: OriginPause;
}

export class Gate {
  readonly #options: GateOptions;
  readonly #rules: OriginRules;
  /** Origins whose robots.txt is on its way, and the providers that wait for it. */
  readonly #asked = new Map<string, Set<number>>();
  readonly #counts = { robots_asked: 0, robots_forbidden: 0 };

  constructor(options: GateOptions) {
    this.#options = options;
    this.#rules = new OriginRules(options.store.robots, this.#nowS());
  }

  /** For the status. */
  get counts(): Readonly<Record<'robots_asked' | 'robots_forbidden', number>> {
    return this.#counts;
  }

  /** Passage of a url whose turn has come. */
  passageOf(row: WaitingRow, terms: SiteTerms): Passage {
    // safeguard: urls of owners not waiting for a robots.txt
    if ((row.flags & UNASKED) === 0) return 'go';
    const url = row.furl ?? row.curl;
    const origin = hostOf(url);
    // safeguard: leaving alone an origin that does not answer what nobody announced
    if (this.#waitS(this.#rules.row(origin)) > 0) return 'closed';
    // safeguard: urls of owners not waiting for a robots.txt
    if (!isGated(row)) return 'go';
    const rules = this.#rules.find(origin, this.#tokenOf(terms), this.#nowS());
    // safeguard: what robots.txt forbids
    if (rules !== undefined) return rules.permits(url) ? 'go' : 'forbidden';
    const waiting = this.#asked.get(origin);
    if (waiting === undefined) return 'ask';
    waiting.add(row.pid);
    return 'wait';
  }

  /** When an origin that is closed to a url may be asked again, monotonic. */
  againMs(row: WaitingRow): number {
    const waitS = this.#waitS(this.#rules.row(hostOf(row.furl ?? row.curl)));
    return this.#options.clock.monotonicMs() + waitS * 1000;
  }

  /**
   * Milliseconds between two fetches that the origin of a url wishes for, as far as that is known; 0: none.
   */
  crawlDelayMs(row: WaitingRow, terms: SiteTerms): number {
    if (!isGated(row)) return 0;
    const origin = hostOf(row.furl ?? row.curl);
    return this.#rules.find(origin, this.#tokenOf(terms), this.#nowS())?.crawlDelayMs ?? 0;
  }

  /** The request for the robots.txt of a row's origin. */
  request(
    row: WaitingRow,
    { id, lane, terms }: { id: number; lane: string; terms: SiteTerms },
  ): FetchRequest {
    const origin = hostOf(row.furl ?? row.curl);
    this.#asked.set(origin, new Set());
    this.#counts.robots_asked++;
    const request: FetchRequest = {
      id,
      lane,
      url: `${origin}/robots.txt`,
      roots: [],
      inline: MAX_INLINE_BYTES,
    };
    const kept = this.#rules.row(origin);
    if (kept?.body != null) {
      if (kept.etag !== null) request.etag = kept.etag;
      if (kept.lastmodified !== null) request.lastModified = kept.lastmodified;
    }
    const { timeoutMs, userAgent, login } = terms;
    if (timeoutMs !== undefined) request.timeoutMs = timeoutMs;
    if (userAgent !== undefined) request.userAgent = userAgent;
    if (login !== undefined) request.login = login;
    return request;
  }

  /** News in the answer to a request for a robots.txt. */
  news(url: string, result: RobotsResult): OriginNews {
    const origin = hostOf(url);
    const nowS = this.#nowS();
    const row = robotsAfter(this.#rules.row(origin), result, nowS);
    const robots = isStale(row, nowS) ? { ...row, ...this.#pauseOf(origin, row.failures + 1, result) } : row;
    return { origin, robots };
  }

  /** News in the result of a url that nobody announced. @returns undefined: nothing about its origin that is
   * not known */
  heard(url: string, result: FetchDone): OriginNews | undefined {
    const origin = hostOf(url);
    const before = this.#rules.row(origin);
    const isSilent = result.status === 'error' && result.reach === 'provider';
    // A request from before the last failure says nothing new.
    if (this.#waitS(before) > 0) return isSilent ? { origin } : undefined;
    const isAway = isSilent || patienceOf(result) > 0;
    if (!isAway && (before?.failures ?? 0) === 0) return undefined;
    const failures = isSilent ? (before?.failures ?? 0) + 1 : 0;
    const pause = isAway ? this.#pauseOf(origin, failures, result) : { failures, again: 0 };
    this.#rules.paused(origin, pause, this.#nowS());
    return { origin, pause };
  }

  /** Inside the transaction that takes it up. */
  write({ origin, robots, pause }: OriginNews): void {
    const { store } = this.#options;
    // safeguard: writing down that an origin does not answer what nobody announced
    if (robots !== undefined) store.robots.note(origin, robots, forgottenBefore(this.#nowS()));
    else if (pause !== undefined) store.robots.pause(origin, pause, this.#nowS());
  }

  /** The news is committed. @returns providers that waited for it */
  written({ origin, robots }: OriginNews): Iterable<number> {
    this.#rules.forget(origin);
    return robots === undefined ? [] : this.over(origin);
  }

  /** A robots.txt has come, or the request came back: those that wait for it have their turn. @returns the
   * providers */
  over(url: string): Iterable<number> {
    const origin = hostOf(url);
    const waiting = this.#asked.get(origin) ?? new Set<number>();
    this.#asked.delete(origin);
    return waiting;
  }

  /** The written robots.txt files have changed. */
  reload(): void {
    this.#rules.forgetAll();
  }

  /** Result of a url that is forbidden: nothing is sent for it. */
  forbidden(): FetchFailed {
    this.#counts.robots_forbidden++;
    return refusalOf(ROBOTS_FORBID);
  }

  /** An origin did not answer so often, one after the other, or asks for patience. */
  #pauseOf(origin: string, failures: number, result: RobotsResult): OriginPause {
    const { backoff, random, log } = this.#options;
    const failed = result.status === 'error' ? result : { code: 611, message: `status="${result.status}"` };
    const patienceMs = result.status === 'error' ? Math.min(patienceOf(result), backoff.maxMs) : 0;
    const waitMs = Math.max(patienceMs, failures === 0 ? 0 : backoffMs(backoff, failures, random()));
    log.info('what nobody announced waits before the next request', {
      origin,
      wait_ms: waitMs,
      code: failed.code,
      reason: failed.message,
    });
    return { failures, again: this.#nowS() + Math.ceil(waitMs / 1000) };
  }

  /** Seconds for which an origin is left alone; no longer than any may be, whatever the clock was set to. */
  #waitS(pause: OriginPause | undefined): number {
    const waitS = (pause?.again ?? 0) - this.#nowS();
    return waitS > Math.ceil(this.#options.backoff.maxMs / 1000) ? 0 : Math.max(0, waitS);
  }

  #nowS(): number {
    return Math.floor(this.#options.clock.nowMs() / 1000);
  }

  #tokenOf({ userAgent = this.#options.userAgent }: SiteTerms): string {
    return productToken(userAgent);
  }
}
