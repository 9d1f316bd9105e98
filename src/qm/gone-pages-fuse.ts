/**
 * The mass-delete fuse of what scans and audits find gone: more pages of a provider than it permits in a day stay for now, since a
 * site that loses most of its pages at once is broken more often than it is gone.
 */
import type { GoneRules } from '../db/queue/observer.js';
import type { FuseTerms } from '../db/queue/held-removals.js';
import type { Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';
import { fuseLimit, type FuseRules } from './fuse.js';

const DAY_MS = 86_400_000;
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

  limit(terms: FuseTerms): number {
    return fuseLimit(terms, this.#fuse);
  }

  keptBack(pid: number, curl: string, removed: number): void {
    const atMs = this.#clock.monotonicMs();
    const isSaid = atMs - (this.#keptAtMs.get(pid) ?? -Infinity) < DAY_MS;
    this.#keptAtMs.delete(pid);
    this.#keptAtMs.set(pid, atMs);
    const [oldest] = this.#keptAtMs.keys();
    if (this.#keptAtMs.size > MOST && oldest !== undefined) this.#keptAtMs.delete(oldest);
    if (isSaid) return;
    this.#log.warn('removals held back: more pages are gone than the fuse permits (205)', {
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
