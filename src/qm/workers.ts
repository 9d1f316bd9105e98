/** The Bot Managers connected, and those whose store is full: left without work for a while. */
import type { FetchRequest } from '../wire/fetch.js';
import type { LaneTable } from './schedule/lanes.js';

/** A Bot Manager as the dispatcher sees it. */
export interface Worker {
  fetch(request: FetchRequest): void;
  /** What it has not begun of the lane comes back as `recalled`. */
  recall(lane: string): void;
}

export class Workers {
  readonly #table: LaneTable;
  readonly #workers = new Map<number, { worker: Worker; slots: number; restUntilMs: number }>();

  /** @param table is told the slots of each */
  constructor(table: LaneTable) {
    this.#table = table;
  }

  get(id: number): Worker | undefined {
    return this.#workers.get(id)?.worker;
  }

  set(id: number, worker: Worker, slots: number): void {
    const restUntilMs = this.#workers.get(id)?.restUntilMs ?? 0;
    this.#workers.set(id, { worker, slots, restUntilMs });
    this.#table.setWorker(id, restUntilMs > 0 ? 0 : slots);
  }

  remove(id: number): void {
    this.#workers.delete(id);
    this.#table.removeWorker(id);
  }

  /** Gives it nothing until then (monotonic). */
  rest(id: number, untilMs: number): void {
    const entry = this.#workers.get(id);
    if (entry === undefined) return;
    entry.restUntilMs = untilMs;
    this.#table.setWorker(id, 0);
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
