/** A rail that has lost what it was sent: what the journal has of its target is left in its backlog again. */
import type { Parked } from '../db/clear/backlog.js';
import type { ClearDatabase } from '../db/clear/database.js';
import type { Clock } from '../lib/clock.js';
import { step } from '../lib/steps.js';

/** Pages of one transaction. */
const SLICE_ROWS = 1000;
const POLL_MS = 50;

/**
 * @param sinceMs milliseconds since 1970
 * @returns how many pages
 * @throws LccError `usage` when there is no such rail
 */
export function resyncRail(db: ClearDatabase, name: string, sinceMs: number, nowMs: number): number {
  const rail = db.rails.demand(name);
  const pages = new Set<string>();
  for (let after = 0; ;) {
    const rows = db.write(() => {
      const some = db.journal.since(rail.target, sinceMs, after, SLICE_ROWS);
      for (const { url, contentId, op } of some) {
        // What was put is generated again, for all rails of the target.
        if (op === 'P') db.soft.publish({ url, target: rail.target, contentId }, nowMs);
        else db.backlog.park(againOn(name, url, contentId), nowMs);
      }
      return some;
    });
    step('clear.resync.parked');
    for (const { url } of rows) pages.add(url);
    const last = rows.at(-1);
    if (last === undefined || rows.length < SLICE_ROWS) return pages.size;
    after = last.id;
  }
}

function againOn(rail: string, url: string, contentId: string): Parked {
  const error = 'asked for by lccrail resync';
  return { rail, url, op: 'D', contentId, bodySha: null, attempts: 0, nextMs: 0, dead: 0, error };
}

/**
 * Waits until nothing waits for a rail.
 * @param sleep resolves after a time in milliseconds, and keeps the process alive until then
 * @returns how many pages still do when the time is over
 */
export async function waitForBacklog(
  db: ClearDatabase,
  clock: Clock,
  rail: string,
  timeoutMs: number,
  sleep: (delayMs: number) => Promise<void>,
): Promise<number> {
  const endMs = clock.monotonicMs() + timeoutMs;
  for (;;) {
    const isLeft = db.read(() => db.backlog.has(rail, 'D') || db.backlog.has(rail, 'P'));
    if (!isLeft) return 0;
    const leftMs = endMs - clock.monotonicMs();
    if (leftMs <= 0) return db.backlog.counts().find(each => each.rail === rail)?.waiting ?? 0;
    await sleep(Math.min(POLL_MS, leftMs));
  }
}
