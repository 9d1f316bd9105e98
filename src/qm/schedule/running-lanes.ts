/** Lanes that were not recalled, by the priority they count as. */
import { PRIORITIES, type Lane } from './lane.js';

export class RunningLanes {
  readonly #lanes: readonly Set<Lane>[] = Array.from({ length: PRIORITIES }, () => new Set<Lane>());

  add(lane: Lane): void {
    this.#lanes[lane.priority]?.add(lane);
  }

  delete(lane: Lane): void {
    this.#lanes[lane.priority]?.delete(lane);
  }

  /** The lane counts as `priority` from now on. */
  rank(lane: Lane, priority: number): void {
    this.delete(lane);
    lane.priority = priority;
    if (lane.state !== 'recalled') this.add(lane);
  }

  /** In the order in which they were opened. */
  of(priority: number): Iterable<Lane> {
    return this.#lanes[priority] ?? [];
  }

  /** How many there are, by priority. */
  get counts(): number[] {
    return this.#lanes.map(lanes => lanes.size);
  }
}
