/** Status of a daemon's rails. */
import type { BacklogCount, BacklogStore } from '../../db/clear/backlog.js';
import type { Clock } from '../../lib/clock.js';
import type { Rail } from './rail.js';

/** Counting all backlogs takes its time: it may take a hundredth of it. */
const REST = 100;

export type RailStatus = ReturnType<typeof statusOf>;

export function railsStatus(backlog: BacklogStore, clock: Clock): (rails: readonly Rail[]) => RailStatus[] {
  let counts = new Map<string, BacklogCount>();
  let nextMs = -Infinity;
  return rails => {
    const fromMs = clock.monotonicMs();
    if (fromMs >= nextMs) {
      counts = new Map(backlog.counts().map(count => [count.rail, count]));
      const nowMs = clock.monotonicMs();
      nextMs = nowMs + (nowMs - fromMs) * REST;
    }
    return rails.map(rail => statusOf(rail, counts.get(rail.name)));
  };
}

function statusOf(rail: Rail, count: BacklogCount | undefined) {
  const { row, state, slowness, lag } = rail;
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
}
