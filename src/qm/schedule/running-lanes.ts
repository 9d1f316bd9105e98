/** Lanes that were not recalled, by the priority they count as. */
import { LOWEST, PRIORITIES, type Lane } from './lane.js';

export class RunningLanes {
  readonly #lanes: readonly Set<Lane>[] = Array.from({ length: PRIORITIES - LOWEST }, () => new Set<Lane>());

  add(lane: Lane): void {
    this.#lanes[lane.priority - LOWEST]?.add(lane);
  }

  delete(lane: Lane): void {
    this.#lanes[lane.priority - LOWEST]?.delete(lane);
  }

  /** The lane counts as `priority` from now on. */
  rank(lane: Lane, priority: number): void {
    this.delete(lane);
    lane.priority = priority;
    if (lane.state !== 'recalled') this.add(lane);
  }

  /** In the order in which they were opened. */
  of(priority: number): Iterable<Lane> {
    return this.#lanes[priority - LOWEST] ?? [];
  }

  /** How many there are, by priority from 0. */
  get counts(): number[] {
    return this.#lanes.slice(-LOWEST).map(lanes => lanes.size);
  }

  /** How many there are of what nobody announced. */
  get unasked(): number {
    return this.#lanes.slice(0, -LOWEST).reduce((sum, lanes) => sum + lanes.size, 0);
  }
}
