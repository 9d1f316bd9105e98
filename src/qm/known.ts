/**
 * What the dispatcher knows of the providers that have sets waiting: settings, roots, the order of their urls, and how
 * long their sites are to be left alone.
 */
import type { Outcome } from '../db/queue/results.js';
import type { Provider } from '../db/queue/providers.js';
import type { WaitingRow } from '../db/queue/row.js';
import type { WaitingSet } from '../db/queue/sets.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';
import type { FetchFailed } from '../wire/fetch.js';
import { backoffMs, type BackoffRules } from './backoff.js';
import type { Arrival } from './results.js';
import type { LaneTable } from './schedule/lanes.js';
import { ProviderOrder } from './schedule/order.js';

export interface Known {
  provider: Provider;
  roots: readonly string[];
  order: ProviderOrder<WaitingSet, WaitingRow>;
}

export interface KnownOptions {
  store: QueueStore;
  clock: Clock;
  log: Log;
  backoff: BackoffRules;
  /** 0 to 1, for jitter. */
  random: () => number;
}

export class KnownProviders {
  readonly #options: KnownOptions;
  readonly #table: LaneTable;
  readonly #known = new Map<number, Known>();

  /** @param table is told what they may do */
  constructor(options: KnownOptions, table: LaneTable) {
    this.#options = options;
    this.#table = table;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Sets with urls left. */
  get sets(): number {
    let sets = 0;
    for (const { order } of this.#known.values()) sets += order.sets;
    return sets;
  }

  get(pid: number): Known | undefined {
    return this.#known.get(pid);
  }

  /** A set is complete; one of a provider that was removed is left where it is. */
  addSet(set: WaitingSet): void {
    let known = this.#known.get(set.pid);
    if (known === undefined) {
      const { store } = this.#options;
      const provider = store.providers.get(set.pid);
      if (provider === undefined) return;
      known = { provider, roots: [], order: new ProviderOrder(store.queue) };
      this.#known.set(set.pid, known);
      this.#load(set.pid, known);
    }
    known.order.add(set);
    this.#table.setHasUrls(set.pid, true);
  }

  /** Has nothing left. */
  remove(pid: number): void {
    this.#known.delete(pid);
    this.#table.removeProvider(pid);
  }

  /** Reads their settings again. */
  reload(): void {
    for (const [pid, known] of this.#known) this.#load(pid, known);
  }

  /** Forgets delays, of one provider or of all that have urls waiting. @returns how many providers that concerned */
  forgetDelays(pid?: number): number {
    const { store } = this.#options;
    const pids = pid === undefined ? [...this.#known.keys()] : [pid];
    store.transaction(() => pids.forEach(p => store.providers.setBackoff(p, 0, 0)));
    for (const p of pids) {
      this.#known.get(p)?.order.forgetDelays();
      this.#table.release(p);
      this.#table.setHasUrls(p, true);
    }
    this.reload();
    return pids.length;
  }

  /**
   * What an error says beyond its url: a site that does not answer, or asks to be left alone.
   * @param sentBackoffs the provider's failures when the request was sent: those of one outage count once
   */
  heed(pid: number, sentBackoffs: number, result: FetchFailed): void {
    const provider = this.#known.get(pid)?.provider;
    if (provider === undefined) return;
    const { clock, backoff, random, log } = this.#options;
    let waitMs = 0;
    if (result.reach === 'provider') {
      if (sentBackoffs !== provider.backoffs) return;
      provider.backoffs++;
      waitMs = backoffMs(backoff, provider.backoffs, random());
    }
    waitMs = Math.max(waitMs, Math.min(result.retryAfterMs ?? 0, backoff.maxMs));
    if (waitMs === 0) return;
    const untilS = Math.ceil((clock.nowMs() + waitMs) / 1000);
    provider.backoffuntil = Math.max(provider.backoffuntil, untilS);
    this.#table.delay(pid, clock.monotonicMs() + waitMs, provider.backoffs > 0);
    log.info('provider is left alone', { pid, wait_ms: waitMs, code: result.code, reason: result.message });
  }

  /** Writes what a result says of its provider's site. Inside the transaction of the result. */
  note({ sent, result }: Arrival, outcome: Outcome): void {
    const { pid } = sent;
    const provider = this.#known.get(pid)?.provider;
    if (provider === undefined || result === undefined) return;
    const { providers } = this.#options.store;
    const answered = result.status !== 'error' || result.reach !== 'provider';
    // Only what was sent after the last failure shows that the site answers again.
    if (answered && provider.backoffs > 0 && sent.backoffs === provider.backoffs) {
      provider.backoffs = 0;
      provider.backoffuntil = 0;
      providers.setBackoff(pid, 0, 0);
      this.#table.release(pid);
    } else if (outcome === 'site' || (result.status === 'error' && result.retryAfterMs !== undefined)) {
      providers.setBackoff(pid, provider.backoffs, provider.backoffuntil);
    }
  }

  #load(pid: number, known: Known): void {
    const { store, clock, backoff } = this.#options;
    const provider = store.providers.get(pid);
    if (provider === undefined) {
      this.#table.setStopped(pid, true);
      return;
    }
    known.provider = provider;
    known.roots = store.providers.roots(pid);
    this.#table.setProvider({ pid, priority: provider.priority, parallel: provider.parallel });
    this.#table.setStopped(pid, provider.paused !== 0 || provider.enabled === 0);
    // A clock that was set back must not make it longer than any wait can be.
    const waitMs = Math.min(provider.backoffuntil * 1000 - clock.nowMs(), backoff.maxMs);
    if (waitMs > 0) this.#table.delay(pid, clock.monotonicMs() + waitMs, provider.backoffs > 0);
  }
}
