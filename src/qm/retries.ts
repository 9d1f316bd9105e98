/** How often urls that failed are tried again, how long they wait, and when they are, by provider: for the
 * dispatcher, and for people. */
import type { RetryRule } from '../db/queue/results.js';
import type { WaitingRow } from '../db/queue/row.js';
import type { WaitingSet } from '../db/queue/sets.js';
import { STORE_FULL } from '../wire/codes.js';
import type { FetchDone } from '../wire/fetch.js';
import { doubledMs } from '../lib/backoff.js';
import type { DispatchOptions } from './dispatch-options.js';
import { InOrder } from './schedule/in-order.js';
import type { ProviderOrder } from './schedule/url-order.js';

type Options = Pick<DispatchOptions, 'clock' | 'retryDelayMs' | 'backoff'>;
type Order = Pick<ProviderOrder<WaitingSet, WaitingRow>, 'nextDueMs'>;

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
  readonly #options: Options;
  readonly #planned = new InOrder<number>();
  readonly #orderOf: (pid: number) => Order | undefined;

  constructor(options: Options, orderOf: (pid: number) => Order | undefined) {
    this.#options = options;
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
    if (dueMs !== undefined) this.#planned.set(pid, dueMs);
  }

  delete(pid: number): void {
    this.#planned.delete(pid);
  }

  /** Takes out the providers that are due. */
  due(nowMs: number): number[] {
    return this.#planned.takeUpTo(nowMs);
  }

  /** When `due` is worth asking again, monotonic. */
  nextMs(): number | undefined {
    return this.#planned.first()?.at;
  }

  /** Providers, and when the first of their failed urls is tried again (milliseconds since 1970), at most
   * `limit`. */
  times(limit: number): [number, number][] {
    const found: [number, number][] = [];
    for (const one of this.#waiting()) {
      if (found.length >= limit) break;
      found.push(one);
    }
    return found;
  }

  /** When the first one of all is tried again, milliseconds since 1970; null when none is known to wait for
   * that. */
  soonestAtMs(): number | null {
    let firstMs = Infinity;
    for (const [, atMs] of this.#waiting()) firstMs = Math.min(firstMs, atMs);
    return firstMs === Infinity ? null : firstMs;
  }

  /** A provider that was told to try at once is planned still, and waits no more. */
  *#waiting(): Generator<[number, number], void> {
    const { clock } = this.#options;
    for (const pid of this.#planned.keys()) {
      const dueMs = this.#orderOf(pid)?.nextDueMs();
      if (dueMs !== undefined) yield [pid, Math.round(clock.nowMs() + dueMs - clock.monotonicMs())];
    }
  }
}
