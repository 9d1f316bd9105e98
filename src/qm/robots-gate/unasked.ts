/** Results of urls that nobody announced, and of the requests for a robots.txt in their place, on their way
 * to the database. */
import type { FetchDone, FetchInline, FetchRedirect } from '../../wire/fetch.js';
import type { Arrival, Settled } from '../results.js';
import type { Request } from '../workers.js';
import { FLAG_SLOW, type WaitingRow } from '../../db/queue/row.js';
import { setNewest } from '../../lib/newest.js';
import { Gate, type GateOptions } from './gate.js';
import { WaitingOrigins, type WaitingOriginsParts } from './waiting-origins.js';

/** A site may lead on and on, each time elsewhere: redirects that are followed one after the other. */
const MAX_CHAIN = 10;
/** Places with redirects that are remembered. */
const MAX_CHAINS = 100_000;
/** Between two pushes of a provider whose pushes are seldom true: 60 looks in an hour. */
const BETWEEN_SLOW_MS = 60_000;
/** Providers of which the last one is remembered. */
const MAX_SLOW = 100_000;

/** The roots of a provider; undefined: it is gone. */
type Roots = { isInside: (url: string) => boolean } | undefined;

export class Unasked {
  readonly gate: Gate;
  readonly origins: WaitingOrigins;
  /** By provider: when the last slow push was sent, monotonic. In memory only: after a restart each may have
   * one look more. */
  readonly #pushedMs = new Map<number, number>();
  /** Redirects so far, by place in the queue: where one leads takes the place of the url, so that each is
   * asked for once. */
  readonly #chains = new Map<number, number>();

  constructor(options: GateOptions & WaitingOriginsParts) {
    this.gate = new Gate(options);
    this.origins = new WaitingOrigins(options);
  }

  /** True if a url is of a provider whose pushes are few, and it is too early for another one. */
  mustWait(row: WaitingRow, nowMs: number): boolean {
    return this.#pushAgainMs(row) > nowMs;
  }

  /** The url is sent. */
  sent({ pid, flags }: WaitingRow, nowMs: number): void {
    if ((flags & FLAG_SLOW) !== 0) setNewest(this.#pushedMs, pid, nowMs, MAX_SLOW);
  }

  /** When a url that is closed may be sent, monotonic. */
  againMs(row: WaitingRow): number {
    return Math.max(this.gate.againMs(row), this.#pushAgainMs(row));
  }

  #pushAgainMs({ pid, flags }: WaitingRow): number {
    const sentMs = (flags & FLAG_SLOW) === 0 ? undefined : this.#pushedMs.get(pid);
    return sentMs === undefined ? -Infinity : sentMs + BETWEEN_SLOW_MS;
  }

  /** The part of a result that must be taken up. */
  arrivalOf(
    { arrival: sent, url, isRobots }: Request,
    result: FetchDone | FetchInline,
    known: Roots,
  ): Arrival {
    if (isRobots === true || result.status === 'inline') {
      return { sent, result: undefined, news: this.gate.news(url, result) };
    }
    if (sent.set.class === 0) return { sent, result };
    const news = this.gate.heard(url, result);
    // An origin that does not answer is the affair of what nobody announced alone.
    // safeguard: what nobody announced delaying nothing that an owner did
    if (result.status === 'error' && result.reach === 'provider') return { sent, result: undefined, news };
    return result.status === 'redirect'
      ? { sent: this.#redirected(sent, result, known), result, news }
      : { sent, result, news };
  }

  /** The result is committed. @returns providers whose urls waited for it */
  over({ arrival: { news, sent }, outcome }: Settled): Iterable<number> {
    if (outcome === 'done') this.#chains.delete(sent.pos);
    return news === undefined ? [] : this.gate.written(news);
  }

  /** The request came back as if it had never been sent. @returns providers whose urls waited for it */
  cameBack({ isRobots, url }: Request): Iterable<number> {
    return isRobots === true ? this.gate.over(url) : [];
  }

  #redirected(sent: Arrival['sent'], { location }: FetchRedirect, known: Roots): Arrival['sent'] {
    const length = (this.#chains.get(sent.pos) ?? 0) + 1;
    const mayFollow = length <= MAX_CHAIN && known?.isInside(location) === true;
    if (mayFollow && this.#chains.size < MAX_CHAINS) this.#chains.set(sent.pos, length);
    return { ...sent, mayFollow };
  }
}
