/** The Bot Managers connected, and those whose store is full: left without work for a while. */
import type { FetchRequest } from '../wire/fetch.js';
import type { LaneTable } from './schedule/lanes.js';

/** A Bot Manager as the dispatcher sees it. */
export interface Worker {
  fetch(request: FetchRequest): void;
  /** What it has not begun of the lane comes back as `recalled`. */
  recall(lane: string): void;
}

interface Entry {
  worker: Worker;
  slots: number;
  /** Monotonic; 0 = it does not rest. */
  restUntilMs: number;
  /** Why it rests. */
  reason: string;
}

export class Workers {
  readonly #table: LaneTable;
  readonly #workers = new Map<number, Entry>();

  /** @param table is told the slots of each */
  constructor(table: LaneTable) {
    this.#table = table;
  }

  get(id: number): Worker | undefined {
    return this.#workers.get(id)?.worker;
  }

  set(id: number, worker: Worker, slots: number): void {
    const { restUntilMs = 0, reason = '' } = this.#workers.get(id) ?? {};
    this.#workers.set(id, { worker, slots, restUntilMs, reason });
    this.#table.setWorker(id, restUntilMs > 0 ? 0 : slots);
  }

  remove(id: number): void {
    this.#workers.delete(id);
    this.#table.removeWorker(id);
  }

  /**
   * Gives it nothing until then (monotonic), for a reason that the operator is told.
   * @returns false when it rested already
   */
  rest(id: number, untilMs: number, reason: string): boolean {
    const entry = this.#workers.get(id);
    if (entry === undefined) return false;
    const isNew = entry.restUntilMs === 0;
    entry.restUntilMs = untilMs;
    entry.reason = reason;
    this.#table.setWorker(id, 0);
    return isNew;
  }

  /** How long still, and why it rests. */
  restOf(id: number, nowMs: number): { rests_ms: number; reason: string } | undefined {
    const entry = this.#workers.get(id);
    if (entry === undefined || entry.restUntilMs === 0) return undefined;
    return { rests_ms: Math.max(0, Math.round(entry.restUntilMs - nowMs)), reason: entry.reason };
  }

  /** Lets those go on that have rested. */
  wake(nowMs: number): void {
    for (const [id, entry] of this.#workers) {
      if (entry.restUntilMs === 0 || entry.restUntilMs > nowMs) continue;
      entry.restUntilMs = 0;
      this.#table.setWorker(id, entry.slots);
    }
  }

  /** When the next rest ends, Infinity when none is running. */
  nextWakeMs(): number {
    let least = Infinity;
    for (const { restUntilMs } of this.#workers.values())
      if (restUntilMs > 0) least = Math.min(least, restUntilMs);
    return least;
  }
}
