/** Lanes at a Bot Manager: as many as it has slots, and some more that wait for one of them (lanes.ts). */
import type { Lane } from './lane.js';

export interface Worker {
  slots: number;
  lanes: Set<Lane>;
  /** Those of them that are beyond the slots, in their order. */
  spares: Set<Lane>;
}

/** How many lanes it may have. */
export function capacityOf(worker: Worker, overbookPercent: number): number {
  return Math.ceil(worker.slots * (1 + overbookPercent / 100));
}

/** The one with the largest share of its lanes free; undefined when none has any. */
export function freestOf(
  workers: ReadonlyMap<number, Worker>,
  overbookPercent: number,
): [number, Worker] | undefined {
  let best: [number, Worker] | undefined;
  let bestFree = 0;
  for (const entry of workers) {
    const capacity = capacityOf(entry[1], overbookPercent);
    const free = (capacity - entry[1].lanes.size) / Math.max(1, capacity);
    if (free > bestFree) {
      best = entry;
      bestFree = free;
    }
  }
  return best;
}

/** Gives lanes beyond the slots one, as far as there are free ones. @returns those that have one now */
export function promoted(worker: Worker): Lane[] {
  const lanes: Lane[] = [];
  for (const lane of worker.spares) {
    if (worker.lanes.size - worker.spares.size >= worker.slots) break;
    worker.spares.delete(lane);
    lanes.push(lane);
  }
  return lanes;
}
