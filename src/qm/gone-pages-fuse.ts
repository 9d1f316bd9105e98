/** The mass-delete fuse of what scans and audits find gone: pages of a provider beyond a share in two days
 * stay for now, since a site that loses most of its pages at once is broken more often than it is gone. */
import type { GoneRules } from '../db/queue/observer.js';
import type { FuseTerms } from '../db/queue/held-removals.js';
import type { Gone } from '../db/truth/gone.js';
import type { Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';
import { setNewest } from '../lib/newest.js';
import { fuseLimit, type FuseRules } from './fuse.js';

const DAY_MS = 86_400_000;
/** Share of a provider that may go, whatever its size: within hours an outage and a removal look alike. */
const MOST_PERCENT: Record<Gone, number> = { said: 50, missed: 10 };
/** Pages that may go of any provider, for a share of a few is none. */
const LEAST = 3;
/** Providers that are remembered and named. */
const MOST = 1000;

export class GonePages implements GoneRules {
  readonly #fuse: FuseRules;
  readonly #clock: Clock;
  readonly #log: Log;
  /** By provider: when a page of it was kept last, milliseconds since the start. */
  readonly #keptAtMs = new Map<number, number>();

  constructor(fuse: FuseRules, clock: Clock, log: Log) {
    this.#fuse = fuse;
    this.#clock = clock;
    this.#log = log;
  }

  /** Only a fuse that is off sets none. */
  limit(terms: FuseTerms, gone: Gone): number {
    const limit = fuseLimit(terms, this.#fuse);
    if (limit === Infinity) return limit;
    return Math.min(limit, Math.max(LEAST, (terms.filesused * MOST_PERCENT[gone]) / 100));
  }

  keptBack(pid: number, curl: string, removed: number): void {
    const atMs = this.#clock.monotonicMs();
    const isSaid = atMs - (this.#keptAtMs.get(pid) ?? -Infinity) < DAY_MS;
    setNewest(this.#keptAtMs, pid, atMs, MOST);
    if (isSaid) return;
    this.#log.warn('removals held back: more pages are gone than may go in a day', {
      pid,
      removed,
      url: curl,
    });
  }

  random(): number {
    return Math.random();
  }

  /** Providers of which a page was kept back within a day. */
  get pids(): number[] {
    const sinceMs = this.#clock.monotonicMs() - DAY_MS;
    return [...this.#keptAtMs].filter(([, atMs]) => atMs > sinceMs).map(([pid]) => pid);
  }
}
