/**
 * The gate of robots.txt: each origin is asked for it before the first of its urls is sent, and again when
 * that is too old.
 *
 *     an origin:  asked ──answered──▶ known ──too old──▶ asked
 *                   ╰──no answer: asked again after a while; in vain: nothing is permitted──▶ known
 *
 * While it is asked its urls wait, and no others. Rules are kept for a number of origins and bytes; the ones
 * that were read longest ago go first, and are asked for again when they are needed.
 */
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import type { RobotsAnswer } from '../../robots/fetcher.js';
import { NO_RULES, NOTHING_PERMITTED, readRobots, type RobotsRules } from '../../robots/robots-txt.js';
import type { Judgement } from './scheduler.js';
import type { SpiderUrl } from './spider-url.js';

/** A host that cannot be reached is asked again after this part of the wait: urls of others may wait behind
 * its own. */
const SOONER = 10;

export interface RobotsOptions {
  /** Asks for a robots.txt. Never rejects. */
  ask: (url: string) => Promise<RobotsAnswer>;
  /** Name of the robot (productToken). */
  token: string;
  /** How long what is known counts. */
  maxAgeMs: number;
  /** How often a site is asked that has trouble, and how long it is left alone before. */
  tries: number;
  retryMs: number;
  maxOrigins: number;
  maxBytes: number;
  clock: Clock;
  log: Log;
  /** Called when the rules of a host are known. */
  heard: (hostName: string) => void;
}

interface Origin {
  readonly hostName: string;
  state: 'asked' | 'known';
  rules: RobotsRules;
  /** True once robots.txt was read, or found missing. */
  isRead: boolean;
  untilMs: number;
}

const UNREAD = 'robots.txt cannot be read';
/** A longer pause is not waited for. */
const MAX_CRAWL_DELAY_MS = 60_000;

export class RobotsGate {
  readonly #options: RobotsOptions;
  /** Known ones in the order in which they were read. */
  readonly #origins = new Map<string, Origin>();
  /** The longest pause that an origin of a host wishes for. */
  readonly #delays = new Map<string, number>();
  #bytes = 0;
  #isClosed = false;

  constructor(options: RobotsOptions) {
    this.#options = options;
  }

  /** Origins of which something is known, or asked. */
  get origins(): number {
    return this.#origins.size;
  }

  judge({ url, hostName }: SpiderUrl): Judgement {
    const { origin: name } = new URL(url);
    const origin = this.#origins.get(name);
    if (origin?.state === 'asked') return 'asked';
    if (origin !== undefined && origin.untilMs > this.#options.clock.monotonicMs())
      return origin.rules.permits(url) ? 'go' : origin.isRead ? 'forbidden by robots.txt' : UNREAD;
    if (origin !== undefined) this.#forget(name, origin);
    const begun: Origin = { hostName, state: 'asked', rules: NO_RULES, isRead: true, untilMs: 0 };
    this.#origins.set(name, begun);
    this.#ask(name, begun, 1);
    return 'asked';
  }

  /** The pause that a host wishes for. */
  delayMsOf(hostName: string): number {
    return this.#delays.get(hostName) ?? 0;
  }

  close(): void {
    this.#isClosed = true;
  }

  #ask(name: string, origin: Origin, nth: number): void {
    const { ask, token, tries, retryMs, clock, log } = this.#options;
    void ask(`${name}/robots.txt`).then(answer => {
      if (this.#isClosed) return;
      switch (answer.kind) {
        case 'rules':
          return this.#know(name, origin, readRobots(answer.content, token));
        case 'none':
          return this.#know(name, origin, NO_RULES);
        case 'trouble':
          if (nth < tries && answer.isLasting !== true) {
            const waitMs = answer.isSilent === true ? retryMs / SOONER : retryMs;
            log.info('robots.txt cannot be read, asked again later', {
              url: name,
              reason: answer.why,
              after_ms: waitMs,
            });
            return void clock.after(waitMs, () => this.#ask(name, origin, nth + 1));
          }
          origin.isRead = false;
          log.warn('robots.txt cannot be read: nothing of the site is fetched', {
            url: name,
            reason: answer.why,
          });
          return this.#know(name, origin, NOTHING_PERMITTED);
      }
    });
  }

  #know(name: string, origin: Origin, rules: RobotsRules): void {
    const { maxAgeMs, maxOrigins, maxBytes, clock, heard } = this.#options;
    Object.assign(origin, { state: 'known', rules, untilMs: clock.monotonicMs() + maxAgeMs });
    this.#bytes += rules.bytes;
    // To the end of the order.
    this.#origins.delete(name);
    for (const [other, known] of this.#origins) {
      if (this.#origins.size < maxOrigins && this.#bytes <= maxBytes) break;
      if (known.state === 'known') this.#forget(other, known);
    }
    this.#origins.set(name, origin);
    const delayMs = Math.min(rules.crawlDelayMs, MAX_CRAWL_DELAY_MS);
    if (delayMs > 0) this.#delays.set(origin.hostName, Math.max(delayMs, this.delayMsOf(origin.hostName)));
    heard(origin.hostName);
  }

  #forget(name: string, { hostName, rules }: Origin): void {
    this.#origins.delete(name);
    this.#bytes -= rules.bytes;
    this.#delays.delete(hostName);
  }
}
