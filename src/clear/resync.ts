/** A rail that has lost what it was sent: what the journal has of its target is left in its backlog again. */
import type { Parked } from '../db/clear/backlog.js';
import type { ClearDatabase } from '../db/clear/database.js';
import type { RailSetup } from '../db/clear/rails.js';
import { step } from '../lib/steps.js';
import { isPutOn } from './drivers/index.js';
import { isFolder } from './page-url.js';
import { alsoOnCaches } from './path-map.js';
import { readTargetMap, type TargetMap } from './target-map.js';

/** Pages of one transaction. */
const SLICE_ROWS = 1000;

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
        // A page that was put is generated again, for all rails of the target.
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

/** A page as a rail is asked for it: a cache also in other ways, such as its folder, which a rail with files
 * never is. */
function urlsOn(map: TargetMap, rail: RailSetup, url: string): string[] {
  if (isPutOn(rail)) return isFolder(url) ? [] : [url];
  return [url, ...alsoOnCaches(map, rail.target, url)];
}

function againOn(rail: string, url: string, contentId: string): Parked {
  const error = 'asked for by lccrail resync';
  return { rail, url, op: 'D', contentId, bodySha: null, attempts: 0, nextMs: 0, dead: 0, error };
}
