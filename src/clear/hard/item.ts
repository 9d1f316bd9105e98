/**
 * A request that is being carried out: its pages, each for all rails of its target, tier by tier.
 *
 *     resolved ──start──▶ dispatched ──every page is done on every rail, or in its backlog──▶ complete
 *
 * Rails of one tier get a page together; those of the next when all of these have it behind them: a cache that is cleared
 * before the server it asks would have the old page again.
 */
import type { RequestKey } from '../../db/clear/queue.js';
import type { Rail } from '../rails/rail.js';
import type { TargetPage } from '../resolve.js';

export interface HardWork {
  key: RequestKey;
  /** Of its key, the last request that this covers. */
  mark: number;
  /** What is cleared. */
  pages: readonly TargetPage[];
  /** What is published instead, or besides. */
  published: readonly TargetPage[];
}

export class HardItem {
  readonly work: HardWork;
  /** Requests with its key have come since. */
  isWantedAgain = false;
  readonly #rails = new Map<string, Rail[]>();

  constructor(work: HardWork, railsOf: (target: string) => readonly Rail[]) {
    this.work = work;
    for (const { target, url } of work.pages) {
      const rails = this.#rails.get(url);
      if (rails === undefined) this.#rails.set(url, [...railsOf(target)]);
      else rails.push(...railsOf(target));
    }
    for (const rails of this.#rails.values()) rails.sort((a, b) => a.row.tier - b.row.tier);
  }

  /** Pages, each for one rail. */
  get size(): number {
    let size = 0;
    for (const rails of this.#rails.values()) size += rails.length;
    return size;
  }

  /** @param complete called once, maybe before this returns */
  start(complete: () => void): void {
    const over = countdown(this.#rails.size, complete);
    for (const [url, rails] of this.#rails) this.#nextTier(url, rails, 0, over);
  }

  #nextTier(url: string, rails: readonly Rail[], from: number, over: () => void): void {
    const first = rails[from];
    if (first === undefined) return over();
    const end = rails.findIndex(({ row }, at) => at > from && row.tier !== first.row.tier);
    const tier = rails.slice(from, end < 0 ? undefined : end);
    const next = countdown(tier.length, () => this.#nextTier(url, rails, from + tier.length, over));
    const task = { url, contentId: this.work.key.contentId, op: 'D' } as const;
    for (const rail of tier) rail.add(task, next);
  }
}

/** Calls `last` with the n-th call, at once if that is none. */
function countdown(n: number, last: () => void): () => void {
  let left = n;
  if (left === 0) last();
  return () => {
    if (--left === 0) last();
  };
}
