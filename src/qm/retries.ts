/** How often urls that failed are tried again, how long they wait, and when they are, by provider: for the
 * dispatcher, and for people. */
import type { RetryRule } from '../db/queue/results.js';
import type { WaitingRow } from '../db/queue/row.js';
import type { WaitingSet } from '../db/queue/sets.js';
import type { Clock } from '../lib/clock.js';
import { STORE_FULL } from '../wire/codes.js';
import type { FetchDone } from '../wire/fetch.js';
import { doubledMs, type Backoff } from '../lib/backoff.js';
import { DelayTable, type DelayRules } from './schedule/delays.js';
import type { ProviderOrder } from './schedule/url-order.js';

type Order = Pick<ProviderOrder<WaitingSet, WaitingRow>, 'nextDueMs' | 'soonestDueMs'>;

export interface RetryOptions {
  clock: Clock;
  /** How precisely waits are kept. */
  lanes: { delays: DelayRules };
  /** Wait before a bad url is tried again; doubled each time, as far as `backoff` permits. */
  retryDelayMs: number;
  backoff: Backoff;
}

/** Longest wait for room, in first waits: some minutes. */
const ROOMLESS_WAITS = 32;

/** Tries after the first for a url that failed temporarily (`qm.retries`). */
export function retryRule(retries: number): RetryRule {
  const isLast = (tries: number) => tries >= retries;
  return {
    isLast,
    isTriedAgain: (tries, { reach, code }) =>
      // Lack of room for a content says nothing of the url: it waits for as long as it takes.
      // safeguard: the limit of retries
      reach === 'url' && (!isLast(tries) || code === STORE_FULL),
  };
}

export class Retries {
  readonly #options: RetryOptions;
  readonly #table: DelayTable<number>;
  readonly #orderOf: (pid: number) => Order | undefined;

  constructor(options: RetryOptions, orderOf: (pid: number) => Order | undefined) {
    this.#options = options;
    this.#table = new DelayTable(options.lanes.delays);
    this.#orderOf = orderOf;
  }

  /** The wait of a url that has failed `tries` times. Room comes back unasked: what waits for it is tried
   * every few minutes. */
  waitMs(tries: number, result: FetchDone | undefined): number {
    const { retryDelayMs, backoff } = this.#options;
    const isRoomless = result?.status === 'error' && result.code === STORE_FULL;
    const longestMs = isRoomless ? Math.max(retryDelayMs, backoff.minMs) * ROOMLESS_WAITS : backoff.maxMs;
    return doubledMs({ minMs: retryDelayMs, maxMs: Math.min(longestMs, backoff.maxMs) }, tries);
  }

  /** Bad urls of its sets are taken when they are due. */
  plan({ order, provider: { pid } }: { order: Order; provider: { pid: number } }): void {
    const dueMs = order.nextDueMs();
    if (dueMs !== undefined) this.#table.set(pid, dueMs);
  }

  delete(pid: number): void {
    this.#table.delete(pid);
  }

  /** Takes out the providers that are due. */
  due(nowMs: number): number[] {
    return this.#table.due(nowMs);
  }

  /** When `due` is worth asking again, monotonic. */
  nextMs(): number | undefined {
    return this.#table.nextMs();
  }

  /** Providers, and when the first of their failed urls is tried again (milliseconds since 1970), at most
   * `limit`. */
  times(limit: number): [number, number][] {
    const found: [number, number][] = [];
    for (const [pid] of this.#table.entries()) {
      if (found.length >= limit) break;
      const atMs = this.#atMs(pid);
      if (atMs !== null) found.push([pid, atMs]);
    }
    return found;
  }

  /** When the first one of all is tried again, milliseconds since 1970; null when none is known to wait for
   * that. */
  soonestAtMs(): number | null {
    let first: [number, number] | undefined;
    for (const entry of this.#table.entries())
      if ((first === undefined || entry[1] < first[1]) && this.#isWaiting(entry[0])) first = entry;
    return first === undefined ? null : this.#atMs(first[0]);
  }

  /** A provider that was told to try at once is planned still, and waits no more. */
  #isWaiting(pid: number): boolean {
    return this.#orderOf(pid)?.nextDueMs() !== undefined;
  }

  /** The planned time may be the beginning of a cell or an hour in which something is due: the order knows
   * better. */
  #atMs(pid: number): number | null {
    const dueMs = this.#orderOf(pid)?.soonestDueMs();
    const { clock } = this.#options;
    return dueMs === undefined ? null : Math.round(clock.nowMs() + dueMs - clock.monotonicMs());
  }
}
