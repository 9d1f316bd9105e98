import type { Db } from '../../db/sqlite/open.js';
import type { Chore } from '../housekeeping.js';

const LOOK_MS = 500;

/** Sees what another process (lccpidb) changed in the database. */
export function outsideChanges(db: Db, changed: () => void): Chore {
  const version = db.prepare<[], number>('PRAGMA data_version').pluck();
  let seen = version.get();
  return {
    run() {
      const now = version.get();
      if (now !== seen) {
        seen = now;
        changed();
      }
      return LOOK_MS;
    },
  };
}
