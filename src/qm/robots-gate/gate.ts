/**
 * The gate: what nobody announced is fetched only where the robots.txt of its origin permits it, as it is when its turn comes.
 * The turn of the first url of an origin asks for that file, in the provider's lane; the url has its turn again after that.
 *
 *     its turn ──rules are known──▶ fetched, or forbidden (code 615): no request
 *        ▲ ╰────they are not──▶ the file is asked for ──▶ answered ──╮ no answer: the provider waits (rule 11)
 *        ╰───────────────────────────────────────────────────────────╯
 *
 * Nothing that an owner announced comes here (docs/design/spidering.md).
 */
import { isGated, type WaitingRow } from '../../db/queue/row.js';
import type { Outcome } from '../../db/queue/results.js';
import type { StoredRobots } from '../../db/queue/robots-txt.js';
import type { QueueStore } from '../../db/queue/store.js';
import type { Clock } from '../../lib/clock.js';
import { codeText, ROBOTS_FORBID } from '../../wire/codes.js';
import { MAX_INLINE_BYTES, type FetchFailed, type FetchRequest } from '../../wire/fetch.js';
import { productToken } from '../../wire/robots-txt.js';
import { hostOf } from '../hosts-of.js';
import type { SiteTerms } from '../request.js';
import { OriginRules } from './rules.js';
import { asAway, forgottenBefore, isStale, robotsAfter, type RobotsResult } from './robots-answer.js';

export interface GateOptions {
  store: QueueStore;
  clock: Clock;
  /** `bot.user_agent`: its name is what robots.txt calls us, where a provider's terms say nothing else. */
  userAgent: string;
}

/** What a url may do now: `ask`: its origin's robots.txt first; `wait`: for that, which is on its way. */
export type Passage = 'go' | 'forbidden' | 'ask' | 'wait';

/** What came of a request for a robots.txt, for the transaction that takes it up. */
export interface RobotsNews {
  origin: string;
  row: StoredRobots;
  /** Nothing may be fetched from the origin before it answers. */
  failure: FetchFailed | undefined;
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

  /** What a url may do whose turn has come. */
  passageOf(row: WaitingRow, terms: SiteTerms): Passage {
    // safeguard: urls of owners not waiting for a robots.txt
    if (!isGated(row)) return 'go';
    const url = row.furl ?? row.curl;
    const origin = hostOf(url);
    const rules = this.#rules.find(origin, this.#tokenOf(terms), this.#nowS());
    // safeguard: what robots.txt forbids
    if (rules !== undefined) return rules.permits(url) ? 'go' : 'forbidden';
    const waiting = this.#asked.get(origin);
    if (waiting === undefined) return 'ask';
    waiting.add(row.pid);
    return 'wait';
  }

  /** Milliseconds between two fetches that the origin of a url wishes for, as far as that is known; 0: none. */
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

  /** What an answer means; what is to be written of it. */
  news(url: string, result: RobotsResult): RobotsNews {
    const origin = hostOf(url);
    const nowS = this.#nowS();
    const row = robotsAfter(this.#rules.row(origin), result, nowS);
    return { origin, row, failure: isStale(row, nowS) ? asAway(result) : undefined };
  }

  /** Inside the transaction that takes it up. @returns what that means for the url in whose place it was asked for */
  write({ origin, row, failure }: RobotsNews): Outcome {
    this.#options.store.robots.note(origin, row, forgottenBefore(this.#nowS()));
    this.#rules.forget(origin);
    return failure === undefined ? 'again' : 'site';
  }

  /** It was written, or came back: those that wait for it have their turn. @returns the providers */
  over(url: string): Iterable<number> {
    const origin = hostOf(url);
    this.#rules.forget(origin);
    const waiting = this.#asked.get(origin) ?? new Set<number>();
    this.#asked.delete(origin);
    return waiting;
  }

  /** What is written of robots.txt files is not what it was. */
  reload(): void {
    this.#rules.forgetAll();
  }

  /** What comes of a url that is forbidden: nothing is sent for it. */
  forbidden(): FetchFailed {
    this.#counts.robots_forbidden++;
    return FORBIDDEN;
  }

  #nowS(): number {
    return Math.floor(this.#options.clock.nowMs() / 1000);
  }

  #tokenOf({ userAgent = this.#options.userAgent }: SiteTerms): string {
    return productToken(userAgent);
  }
}

const FORBIDDEN: FetchFailed = {
  id: 0,
  status: 'error',
  code: ROBOTS_FORBID,
  message: codeText(ROBOTS_FORBID),
  reach: 'real',
  wireBytes: 0,
  elapsedMs: 0,
};
