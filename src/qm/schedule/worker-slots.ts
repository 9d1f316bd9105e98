/** Lanes at a Bot Manager: as many as it has slots, and some more that wait for one of them (lanes.ts). */
import type { Lane } from './lane.js';

export interface LaneWorker {
  slots: number;
  lanes: Set<Lane>;
  /** Those of them that are beyond the slots, in their order. */
  spares: Set<Lane>;
  /** Which of all lanes was opened here last, counted from 1. */
  lastOpened: number;
}

/** How many lanes it may have. */
export function capacityOf(worker: LaneWorker, overbookPercent: number): number {
  return Math.ceil(worker.slots * (1 + overbookPercent / 100));
}

/**
 * The worker with the largest share of its lanes free, among equals the one that was given none for longest: when there is
 * little to do, one store must not fill up beside an empty one. Undefined when no worker has a free lane.
 */
export function freestOf(
  workers: ReadonlyMap<number, LaneWorker>,
  overbookPercent: number,
): [number, LaneWorker] | undefined {
  let best: [number, LaneWorker] | undefined;
  let bestFree = 0;
  for (const entry of workers) {
    const capacity = capacityOf(entry[1], overbookPercent);
    const free = (capacity - entry[1].lanes.size) / Math.max(1, capacity);
    if (
      free > bestFree ||
      (best !== undefined && free === bestFree && entry[1].lastOpened < best[1].lastOpened)
    ) {
      best = entry;
      bestFree = free;
    }
  }
  return best;
}

/**
 * Gives lanes beyond the slots one, higher priorities first, as far as there are free ones.
 * @returns those that have one now
 */
export function promoted(worker: LaneWorker): Lane[] {
  const lanes: Lane[] = [];
  if (worker.spares.size === 0) return lanes;
  for (const spare of byRank(worker.spares)) {
    if (worker.lanes.size - worker.spares.size >= worker.slots) break;
    worker.spares.delete(spare);
    lanes.push(spare);
  }
  return lanes;
}

/**
 * Lanes whose slots are due to lanes beyond the slots: of a lower priority, or of the same when their turn (in urls) is over.
 * Such slots come free in any case, one each, of lanes that are ending.
 */
export function displacedOf(worker: LaneWorker, turn: number): Lane[] {
  if (worker.spares.size === 0) return [];
  const lanes: Lane[] = [];
  const held: Lane[] = [];
  let ending = 0;
  for (const lane of worker.lanes) {
    if (worker.spares.has(lane)) continue;
    if (lane.recalled) ending++;
    else held.push(lane);
  }
  // The lowest priority first, among equals the lane that has had most.
  held.sort((a, b) => a.priority - b.priority || b.done - a.done);
  for (const spare of byRank(worker.spares)) {
    if (spare.recalled || spare.inFlight === 0) continue;
    if (ending > 0) {
      ending--;
      continue;
    }
    const at = held.findIndex(lane => isDueTo(spare, lane, lane.done >= turn));
    if (at >= 0) lanes.push(...held.splice(at, 1));
  }
  return lanes;
}

/**
 * Whether the slot of a lane is due to another provider: one of a higher priority, or an equal when the lane's turn is
 * over.
 */
export function isDueTo(
  { pid, priority }: { pid: number; priority: number },
  lane: Lane,
  isTurnOver: boolean,
): boolean {
  return pid !== lane.pid && (priority > lane.priority || (priority === lane.priority && isTurnOver));
}

/** Higher priorities first, each in the order it came. */
function byRank(spares: ReadonlySet<Lane>): Lane[] {
  return [...spares].sort((a, b) => b.priority - a.priority);
}
