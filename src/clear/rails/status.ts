/** Status of a daemon's rails. */
import type { BacklogCount, BacklogStore } from '../../db/clear/backlog.js';
import type { Clock } from '../../lib/clock.js';
import type { Rail } from './rail.js';

/** Counting all backlogs takes its time: it may take a hundredth of it. */
const REST = 100;

export class RailsStatus {
  readonly #backlog: BacklogStore;
  readonly #clock: Clock;
  #counts: ReadonlyMap<string, BacklogCount> = new Map();
  #nextMs = -Infinity;

  constructor(backlog: BacklogStore, clock: Clock) {
    this.#backlog = backlog;
    this.#clock = clock;
  }

  of(rails: readonly Rail[]) {
    this.#count();
    return rails.map(rail => {
      const { row, state, slowness, lag } = rail;
      const count = this.#counts.get(rail.name);
      return {
        name: rail.name,
        target: row.target,
        tier: row.tier,
        state: state.name,
        changed_ms: row.changeTimeMs,
        reason: row.reason,
        slow: slowness.isSlow,
        delayed: lag.isDelayed,
        waiting: rail.waitingCount,
        sending: rail.sendingCount,
        done: rail.doneCount,
        failed: rail.failedCount,
        parked: rail.parkedCount,
        mean_ms: slowness.meanMs === undefined ? null : Math.round(slowness.meanMs),
        last_error: rail.lastError,
        backlog: count?.waiting ?? 0,
        dead: count?.dead ?? 0,
      };
    });
  }

  #count(): void {
    const fromMs = this.#clock.monotonicMs();
    if (fromMs < this.#nextMs) return;
    this.#counts = new Map(this.#backlog.counts().map(count => [count.rail, count]));
    const nowMs = this.#clock.monotonicMs();
    this.#nextMs = nowMs + (nowMs - fromMs) * REST;
  }
}
