/**
 * Changes made durable together: one sync serves a crowd. A change that comes alone is committed at once.
 * What comes while a commit runs, and for as long again, shares the next one; so commits never take more than
 * half of the time.
 */
import type { Clock } from './clock.js';

interface GroupCommitOptions {
  /** Makes a change, durably, or throws and leaves everything as it was. */
  commit: <T>(change: () => T) => T;
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

  /**
   * Resolves with what `change` returned once it is durable; rejects when the commit it was part of failed.
   */
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
    if (restMs > 0) clock.after(restMs, () => this.#commit());
    else setImmediate(() => this.#commit());
  }

  #commit(): void {
    const { commit, clock } = this.#options;
    const group = this.#nextGroup();
    const startedMs = clock.monotonicMs();
    try {
      // safeguard: the answers waiting for the commit of their group
      const values = commit(() => group.map(({ change }) => change()));
      for (const [index, { done }] of group.entries()) done(values[index]);
    } catch (error) {
      for (const { failed } of group) failed(error);
    }
    const endedMs = clock.monotonicMs();
    this.#restUntilMs = endedMs + Math.min(LONGEST_REST_MS, endedMs - startedMs);
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
