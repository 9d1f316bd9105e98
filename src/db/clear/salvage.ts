/**
 * A damaged clear.db is set aside, never overwritten, and a new one started with what can still be read of
 * it: at the word of an operator only (lccfsck --repair), for a page whose request is lost stays as it is.
 * The way is that of lcc.db (db/sqlite/salvage.ts).
 */
import { LccError } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import { beginLeaving } from '../sqlite/aside.js';
import { asideOf, copyTable, finishSalvage, newOf, openDamaged, removeDatabase } from '../sqlite/salvage.js';
import { beginClearAnew, faultsOf } from './fsck-look.js';
import { openClearDb } from './open.js';

/** Tables that others refer to come first. */
const TABLES = [
  'counter',
  'cursor',
  'target',
  'target_member',
  'rail',
  'rail_status',
  'path_map',
  'clear_cache_queue',
  'clear_rejected',
  'soft_clear_cache',
  'page_publish_info',
  'rail_backlog',
  'generated_page',
  'clear_journal',
] as const;

const NO_RAIL =
  'damaged, and no rail can be read of it; put back a backup of it, or begin with nothing: lccfsck --repair --start-empty';

/**
 * Replaces a damaged database by what can be read of it. The caller has the locks of both daemons.
 * @param fromNothing also when no rail can be read
 * @returns the name that the damaged one has now @throws LccError `config` when no rail can be read
 */
export function salvageClear(path: string, nowMs: number, log: Log, fromNothing: boolean): string {
  buildNew(path, nowMs, log, fromNothing);
  step('db.salvage.built');
  const aside = asideOf(path, nowMs);
  beginLeaving(path, aside);
  finishSalvage(path);
  return aside;
}

function buildNew(path: string, nowMs: number, log: Log, fromNothing: boolean): void {
  const fresh = newOf(path);
  removeDatabase(fresh);
  const db = openClearDb(fresh, 0);
  try {
    const old = openDamaged(path);
    let rails = 0;
    if (old !== undefined) {
      db.pragma('foreign_keys = OFF');
      db.transaction(() => {
        for (const table of TABLES) {
          const copied = copyTable(old, db, table, log);
          if (table === 'rail') rails = copied;
        }
        for (const { mend } of faultsOf(db, nowMs)) mend();
        beginClearAnew(db, nowMs);
      })();
      old.close();
    }
    if (rails === 0 && !fromNothing) throw new LccError('config', `${path}: ${NO_RAIL}`);
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.close();
  } catch (error) {
    db.close();
    // An unfinished copy must not be taken for the database when the damaged one is moved away.
    removeDatabase(fresh);
    throw error;
  }
}
