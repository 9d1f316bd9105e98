/**
 * A request that is being carried out: its pages, each for all rails of its target, tier by tier.
 *
 *     resolved ──start──▶ dispatched ──every page is done on every rail, or in its backlog──▶ complete
 */
import type { RequestKey } from '../../db/clear/queue.js';
import type { Rail } from '../rails/rail.js';
import { countdown, throughTiers } from '../rails/tiers.js';
import type { TargetPage } from '../resolve.js';

export interface HardWork {
  key: RequestKey;
  /** Number of the last request of its key that this covers. */
  mark: number;
  /** Pages to be cleared. */
  pages: readonly TargetPage[];
  /** Pages that are published instead, or besides. */
  published: readonly TargetPage[];
  /** The last publication of any page when it was read. */
  readSeq: number;
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
    for (const [url, rails] of this.#rails) {
      const task = { url, contentId: this.work.key.contentId, op: 'D' } as const;
      throughTiers(rails, (rail, next) => rail.add(task, next), over);
    }
  }
}
