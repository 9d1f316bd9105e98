/**
 * Changes made durable together: one sync serves a crowd. A change that comes alone is committed at once.
 *
 * Where the sync is part of the commit, changes that come while one runs, and for as long again, share the
 * next; so commits never take more than half of the time. Where it is aside, others are served meanwhile, and
 * changes that come while it runs share the next; so nobody waits for more than two.
 */
import type { Clock } from './clock.js';

interface GroupCommitOptions {
  /** Makes changes, or throws and leaves everything as it was: durably, or visibly where there is a sync. */
  commit: <T>(change: () => T) => T;
  /** Resolves when everything committed before is durable. */
  sync?: () => Promise<void>;
  clock: Clock;
  /** The most that the changes of one commit may weigh together; a heavier one goes alone. */
  maxWeight: () => number;
}

interface Waiting {
  change: () => unknown;
  weight: number;
  done: (value: unknown) => void;
  failed: (error: unknown) => void;
}

/** After a commit that met a sick disk. */
const LONGEST_REST_MS = 100;

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  #waiting: Waiting[] = [];
  #isPlanned = false;
  #restUntilMs = -Infinity;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** Resolves with what `change` returned once it is durable; rejects when its commit or its sync failed. */
  add<T>(change: () => T, weight = 1): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const done = (value: unknown) => resolve(value as T);
      this.#waiting.push({ change, weight, done, failed: reject });
      this.#plan();
    });
  }

  #plan(): void {
    if (this.#isPlanned || this.#waiting.length === 0) return;
    this.#isPlanned = true;
    const { clock } = this.#options;
    const restMs = this.#restUntilMs - clock.monotonicMs();
    if (restMs > 0) clock.after(restMs, () => void this.#commit());
    // All that come in this turn of the event loop are served together.
    else setImmediate(() => void this.#commit());
  }

  async #commit(): Promise<void> {
    const { commit, sync, clock } = this.#options;
    const group = this.#nextGroup();
    const startedMs = clock.monotonicMs();
    try {
      // safeguard: the answers waiting for the commit of their group
      const values = commit(() => group.map(({ change }) => change()));
      if (sync !== undefined) await sync();
      for (const [index, { done }] of group.entries()) done(values[index]);
    } catch (error) {
      for (const { failed } of group) failed(error);
    }
    const endedMs = clock.monotonicMs();
    if (sync === undefined) this.#restUntilMs = endedMs + Math.min(LONGEST_REST_MS, endedMs - startedMs);
    this.#isPlanned = false;
    this.#plan();
  }

  #nextGroup(): Waiting[] {
    const maxWeight = this.#options.maxWeight();
    let count = 0;
    let weight = 0;
    for (const waiting of this.#waiting) {
      weight += waiting.weight;
      if (count > 0 && weight > maxWeight) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }
}
