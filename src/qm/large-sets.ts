/**
 * Large sets, which take long enough for others to notice, make room while they are fetched and others are there
 * (lib/duty-cycle.ts): a lane gets a window of urls, and the next one when all of that is back and the provider has rested
 * for as long as the results took. So a set that comes in between has at most one window in front of it, at every process.
 */
import type { WaitingSet } from '../db/queue/sets.js';
import type { Clock } from '../lib/clock.js';
import type { DutyCycle } from '../lib/duty-cycle.js';
import { LARGE_SET_URLS } from '../wire/uns-qm.js';
import type { LaneTable } from './schedule/lanes.js';

const LONGEST_REST_MS = 50;

export interface LargeSetOptions {
  /** Of providers. */
  duty: DutyCycle<number>;
}

export class LargeSets {
  readonly #duty: DutyCycle<number>;
  readonly #table: LaneTable;
  readonly #clock: Clock;
  /** By provider: time spent on results of its large sets since it last rested. */
  readonly #workedMs = new Map<number, number>();

  constructor(parts: LargeSetOptions & { clock: Clock }, table: LaneTable) {
    this.#duty = parts.duty;
    this.#clock = parts.clock;
    this.#table = table;
  }

  /** A set is complete. */
  added(set: WaitingSet): void {
    if (isLarge(set)) this.#yieldIfNeeded(set);
  }

  /** Results took `tookMs` together. */
  took(arrivals: readonly { sent: { set: WaitingSet } }[], tookMs: number): void {
    for (const {
      sent: { set },
    } of arrivals) {
      if (!isLarge(set)) continue;
      this.#workedMs.set(set.pid, (this.#workedMs.get(set.pid) ?? 0) + tookMs / arrivals.length);
    }
  }

  /** A url of the set is back. @param isLast nothing else of its lane is on its way */
  returned(set: WaitingSet, isLast: boolean): void {
    this.#yieldIfNeeded(set);
    const { pid } = set;
    const workedMs = isLast ? this.#workedMs.get(pid) : undefined;
    if (workedMs === undefined) return;
    this.#workedMs.delete(pid);
    if (this.#duty.mustYield(pid))
      this.#table.rest(pid, this.#clock.monotonicMs() + Math.min(LONGEST_REST_MS, workedMs));
  }

  #yieldIfNeeded(set: WaitingSet): void {
    this.#table.setYielding(set.pid, isLarge(set) && this.#duty.mustYield(set.pid));
  }
}

/** By the places it was given: it may have fewer rows by now. */
function isLarge({ firstpos, lastpos }: WaitingSet): boolean {
  return lastpos - firstpos >= LARGE_SET_URLS;
}
