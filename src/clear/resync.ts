/** A rail that has lost what it was sent: what the journal has of its target is left in its backlog again. */
import type { Parked } from '../db/clear/backlog.js';
import type { ClearDatabase } from '../db/clear/database.js';
import type { RailSetup } from '../db/clear/rails.js';
import type { Clock } from '../lib/clock.js';
import { step } from '../lib/steps.js';
import { isPutOn } from './drivers/index.js';
import { isFolder } from './page-url.js';
import { folderOf } from './path-map.js';
import { readTargetMap, type TargetMap } from './target-map.js';

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
  const map = db.read(() => readTargetMap(db));
  const pages = new Set<string>();
  for (let after = 0; ;) {
    const rows = db.write(() => {
      const some = db.journal.since(rail.target, sinceMs, after, SLICE_ROWS);
      for (const { url, contentId, op } of some) {
        // What was put is generated again, for all rails of the target.
        if (op === 'P') db.soft.publish({ url, target: rail.target, contentId }, nowMs);
        else
          for (const each of urlsOn(map, rail, url)) db.backlog.park(againOn(name, each, contentId), nowMs);
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

/** A page as a rail is asked for it: a cache also as the page of its folder, which a rail with files never is. */
function urlsOn(map: TargetMap, rail: RailSetup, url: string): string[] {
  if (isPutOn(rail)) return isFolder(url) ? [] : [url];
  const folder = folderOf(map, rail.target, url);
  return folder === undefined ? [url] : [url, folder];
}

function againOn(rail: string, url: string, contentId: string): Parked {
  const error = 'asked for by lccrail resync';
  return { rail, url, op: 'D', contentId, bodySha: null, attempts: 0, nextMs: 0, dead: 0, error };
}

/** What a rail still lacks: pages of its backlog, pages not published yet, and requests that are not carried out. */
export interface RailLack {
  pages: number;
  published: number;
  requests: number;
}

/**
 * Waits until a rail lacks nothing: its backlog is empty, and what was queued or published before the call is on it.
 * @param sleep resolves after a time in milliseconds, and keeps the process alive until then
 * @returns what it still lacks when the time is over; undefined when it lacks nothing
 */
export async function waitForRail(
  db: ClearDatabase,
  clock: Clock,
  rail: string,
  timeoutMs: number,
  sleep: (delayMs: number) => Promise<void>,
): Promise<RailLack | undefined> {
  const endMs = clock.monotonicMs() + timeoutMs;
  const { target, lastId, lastSeq } = db.read(() => ({
    target: db.rails.get(rail)?.target ?? '',
    lastId: db.queue.lastId(),
    lastSeq: db.numbers.last('publish_seq'),
  }));
  for (;;) {
    const lack = db.read(() => ({
      pages: db.backlog.waitingOf(rail),
      published: db.soft.waitingCountOf(target, lastSeq),
      requests: db.queue.countBetween(0, lastId),
    }));
    if (lack.pages + lack.published + lack.requests === 0) return undefined;
    const leftMs = endMs - clock.monotonicMs();
    if (leftMs <= 0) return lack;
    await sleep(Math.min(POLL_MS, leftMs));
  }
}
