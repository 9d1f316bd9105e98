/**
 * An older database, or a copy of one, that was put in the place of a newer one. Providers count as delivered
 * what an older lcc.db does not hold, and its change sequence gives numbers out again that cursors are past:
 * nobody would notice. So a database is compared with the newest mark beside it (marks.ts). An lcc.db or
 * clear.db that is not the one which was served last, as it was then or later, is not served until it has
 * begun again; of the others docs/design/durability.md says what is done.
 */
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { NO_PASSWORD } from '../../lib/password.js';
import type { Db } from '../../lib/sqlite.js';
import type { FullSetReason } from '../providers/provider-store.js';
import { LCC_DB, madeOf, markOf, newestMark, noteMark, type Marked } from './marks.js';

/** Sets between a backup and what was put back in its place are fewer. */
const SKIPPED_SETS = 10_000_000;

const REMEDY = 'put the right one in its place, or stop lccd and run lccfsck --repair --restored';

/**
 * The fault of a database file that is empty or not there, though one was served: as a full disk or a power
 * cut may leave it. A new one in its place would make the loss definite. Undefined: nothing that could be
 * seen.
 */
export function hasVanished(path: string, { what }: Marked = LCC_DB): string | undefined {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file !== undefined && file.size > 0) return undefined;
  const last = newestMark(path);
  if (last === undefined) return undefined;
  return `${file === undefined ? 'not there' : 'empty'}, though it was served until its ${what} ${last.seq}`;
}

/** The fault of a database that is not the one served last; undefined: nothing that could be seen. */
export function wentBack(db: Db, path: string, kind: Marked = LCC_DB): string | undefined {
  const last = newestMark(path);
  if (last === undefined) return undefined;
  const is = markOf(db, path, kind);
  const { remedy = REMEDY } = kind;
  if (is.storeId !== last.storeId) return `another database than the one served last; ${remedy}`;
  if (is.number < last.number) {
    const lacks =
      is.seq < last.seq
        ? `its last ${kind.what} is ${is.seq}, it was ${last.seq}`
        : 'it lacks what was noted since';
    return `an older copy was put back (${lacks}); ${remedy}`;
  }
  // After a stop in good order a copy has the same number, or is older. A copy may be made within one tick of
  // the file system's clock, and then looks like a file of a system that does not know.
  const made = madeOf(path);
  if (last.state === 'serving' && made !== '' && last.made !== '' && made !== last.made)
    return `a copy was put in its place after its ${kind.servedBy} had been killed, and what it lacks nobody knows; ${remedy}`;
  return undefined;
}

/** As noteMark, where the database is the one served last; nobody depends on a mark being there. */
export function noteChange(db: Db, path: string, kind: Marked = LCC_DB): void {
  try {
    if (wentBack(db, path, kind) === undefined) noteMark(db, path, kind);
  } catch {
    // Without it an older copy may not be noticed, no more than that.
  }
}

/**
 * Lets nobody rely on what this database knew before: cursors of content users begin again, every provider is
 * asked for a full set, and told why; sets that were being taken are taken from their beginning, and every
 * machine reads its content again. The caller has a transaction, and rebuilds the sets of the queue
 * (`rebuildSets`).
 */
export function beginAnew(db: Db, why: FullSetReason): void {
  db.prepare("UPDATE meta SET value = ? WHERE key = 'store_id'").run(randomUUID());
  // Content may have been damaged or replaced too.
  db.exec('UPDATE store SET syncedseq = 0');
  // Otherwise a full set would fulfil the wish that is made here with its second half alone.
  db.exec('DELETE FROM absorbed WHERE complete = 0; UPDATE held SET state = 3 WHERE state = 0');
  // Nobody announces for one without a password.
  db.prepare('UPDATE pidb SET fullsetwanted = ? WHERE password <> ?').run(why, NO_PASSWORD);
  // Sets in the spools of UNSes name sets that this database may not know: none of the next ones has the id
  // of one of those.
  db.prepare(
    "INSERT INTO counter VALUES ('psetid', ?) ON CONFLICT(name) DO UPDATE SET value = value + excluded.value",
  ).run(SKIPPED_SETS);
  // UNSes remember up to which number errors were received, and this database may know less: as a new one it
  // numbers from the clock.
  db.exec(
    "UPDATE sqlite_sequence SET seq = max(seq, CAST(unixepoch('subsec') * 1000 AS INTEGER)) WHERE name = 'pierr'",
  );
}
