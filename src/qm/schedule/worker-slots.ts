/** Lanes at a Bot Manager: as many as it has slots, and some more that wait for one of them (lanes.ts). */
import { enter, type Lane } from './lane.js';

interface LaneWorker {
  slots: number;
  lanes: Set<Lane>;
  /** Those of them that have no slot, in their order. */
  spares: Set<Lane>;
  /** Which of all lanes was opened here last, counted from 1. */
  lastOpened: number;
}

export class WorkerSlots {
  readonly #overbookPercent: number;
  readonly #workers = new Map<number, LaneWorker>();
  /** Lanes so far. */
  #opened = 0;

  constructor(overbookPercent: number) {
    this.#overbookPercent = overbookPercent;
  }

  /** A Bot Manager is there, or its slots changed. @returns lanes that have a slot now */
  set(id: number, slots: number): Lane[] {
    const worker = this.#workers.get(id);
    if (worker === undefined) {
      this.#workers.set(id, { slots, lanes: new Set(), spares: new Set(), lastOpened: 0 });
      return [];
    }
    worker.slots = slots;
    return promoted(worker);
  }

  /** A Bot Manager is gone. @returns its lanes */
  remove(id: number): Iterable<Lane> {
    const lanes = this.#workers.get(id)?.lanes ?? [];
    this.#workers.delete(id);
    return lanes;
  }

  /** Lanes of all. */
  get lanes(): number {
    let lanes = 0;
    for (const worker of this.#workers.values()) lanes += worker.lanes.size;
    return lanes;
  }

  /** Lanes that all may have. */
  get capacity(): number {
    let capacity = 0;
    for (const worker of this.#workers.values()) capacity += this.#capacityOf(worker);
    return capacity;
  }

  /** How many lanes the lane's Bot Manager has. */
  lanesBeside(lane: Lane): number {
    return this.#workers.get(lane.worker)?.lanes.size ?? 1;
  }

  /** True if the lane's Bot Manager has more lanes than it may have, for it has fewer slots now. */
  isOverfull(lane: Lane): boolean {
    const worker = this.#workers.get(lane.worker);
    return worker === undefined || worker.lanes.size > this.#capacityOf(worker);
  }

  /**
   * The worker with the largest share of its lanes free, among equals the one that was given none for
   * longest: when there is little to do, one store must not fill up beside an empty one. Undefined when no
   * worker has a free lane.
   */
  freest(): number | undefined {
    let best: [number, LaneWorker] | undefined;
    let bestFree = 0;
    for (const entry of this.#workers) {
      const capacity = this.#capacityOf(entry[1]);
      const free = (capacity - entry[1].lanes.size) / Math.max(1, capacity);
      if (
        free > bestFree ||
        (best !== undefined && free === bestFree && entry[1].lastOpened < best[1].lastOpened)
      ) {
        best = entry;
        bestFree = free;
      }
    }
    return best?.[0];
  }

  /** The state of a lane that is opened there now. */
  stateOfNext(id: number): 'in-slot' | 'overbooked' {
    const worker = this.#workers.get(id);
    return worker !== undefined && worker.lanes.size < worker.slots ? 'in-slot' : 'overbooked';
  }

  opened(lane: Lane): void {
    const worker = this.#workers.get(lane.worker);
    if (worker === undefined) throw new Error(`lane ${lane.name}: its Bot Manager is not here`);
    if (lane.state === 'overbooked') worker.spares.add(lane);
    worker.lanes.add(lane);
    worker.lastOpened = ++this.#opened;
  }

  /** @returns lanes that have a slot now */
  closed(lane: Lane): Lane[] {
    const worker = this.#workers.get(lane.worker);
    if (worker === undefined) return [];
    worker.lanes.delete(lane);
    worker.spares.delete(lane);
    return promoted(worker);
  }

  /** True if the lane's slot is due to one of those that wait for a slot at its Bot Manager. */
  isDueToSpare(lane: Lane, isTurnOver: boolean): boolean {
    const spares = this.#workers.get(lane.worker)?.spares;
    if (spares?.has(lane) !== false) return false;
    for (const spare of spares)
      if (spare.state === 'overbooked' && spare.inFlight > 0 && isDueTo(spare, lane, isTurnOver)) return true;
    return false;
  }

  /** Lanes that must leave their slots to lanes beyond the slots. @param turn in urls */
  displaced(turn: number): Lane[] {
    return [...this.#workers.values()].flatMap(worker => displacedOf(worker, turn));
  }

  #capacityOf(worker: LaneWorker): number {
    return Math.ceil(worker.slots * (1 + this.#overbookPercent / 100));
  }
}

/**
 * Gives lanes beyond the slots one, higher priorities first, as far as there are free ones.
 * @returns those that have one now
 */
function promoted(worker: LaneWorker): Lane[] {
  const lanes: Lane[] = [];
  if (worker.spares.size === 0) return lanes;
  for (const spare of byRank(worker.spares)) {
    if (worker.lanes.size - worker.spares.size >= worker.slots) break;
    worker.spares.delete(spare);
    if (spare.state === 'overbooked') enter(spare, 'in-slot');
    lanes.push(spare);
  }
  return lanes;
}

/** Lanes whose slots are due to lanes beyond the slots: of a lower priority, or of the same when their turn
 * (in urls) is over. Such slots come free in any case, one each, of lanes that are ending. */
function displacedOf(worker: LaneWorker, turn: number): Lane[] {
  if (worker.spares.size === 0) return [];
  const lanes: Lane[] = [];
  const held: Lane[] = [];
  let ending = 0;
  for (const lane of worker.lanes) {
    if (worker.spares.has(lane)) continue;
    if (lane.state === 'recalled') ending++;
    else held.push(lane);
  }
  // The lowest priority first, among equals the lane that has had most.
  held.sort((a, b) => a.priority - b.priority || b.done - a.done);
  for (const spare of byRank(worker.spares)) {
    if (spare.state === 'recalled' || spare.inFlight === 0) continue;
    if (ending > 0) {
      ending--;
      continue;
    }
    const at = held.findIndex(lane => isDueTo(spare, lane, lane.done >= turn));
    if (at >= 0) lanes.push(...held.splice(at, 1));
  }
  return lanes;
}

/** True if the slot of a lane is due to another provider: one of a higher priority, or an equal when the
 * lane's turn is over. */
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
