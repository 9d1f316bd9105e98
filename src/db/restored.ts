/**
 * An older lcc.db that was put back in the place of a newer one. Providers count as delivered what it does not hold, and
 * its change sequence gives numbers out again that cursors are past: nobody would ever notice. So the last number is noted
 * beside the database when its Queue Manager stops, and one that is behind it is not served until it has begun anew.
 * What was noted is of this database alone: one that was salvaged or has begun anew has another identity.
 */
import { randomUUID } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { writeFileDurably } from '../lib/durable.js';
import { readIfThere } from '../lib/read-if-there.js';
import { lastGiven } from './counters.js';
import type { Db } from './open.js';

/** Sets between a backup and what was put back in its place are fewer. */
const SKIPPED_SETS = 10_000_000;

const lastOf = (path: string) => `${path}.last`;

/** Notes the last number of the change sequence. @throws what the disk says */
export function noteLast(db: Db, path: string): void {
  const { storeId, seq } = identityOf(db);
  writeFileDurably(lastOf(path), `${storeId}\n${seq}\n`);
}

/**
 * What is wrong with a database file that is empty or not there, though one was served: as a full disk or a power cut may
 * leave it. A new one in its place would make the loss definite. Undefined: nothing that could be seen.
 */
export function hasVanished(path: string): string | undefined {
  const [, last] = noted(path);
  if (last === undefined) return undefined;
  const file = statSync(path, { throwIfNoEntry: false });
  if (file !== undefined && file.size > 0) return undefined;
  return `${file === undefined ? 'not there' : 'empty'}, though it was served until its change ${last}`;
}

/** The operator begins with nothing: what was noted of the database before is not true of the next one. */
export function forgetLast(path: string): void {
  rmSync(lastOf(path), { force: true });
}

/** What is wrong with a database that knows less than it did; undefined: nothing that could be seen. */
export function wentBack(db: Db, path: string): string | undefined {
  const [storeId, last] = noted(path);
  const is = identityOf(db);
  if (storeId !== is.storeId || !(Number(last) > is.seq)) return undefined;
  return `an older copy was put back (its last change is ${is.seq}, it was ${last}); stop lccd and run lccfsck --repair --restored`;
}

/**
 * Lets nobody rely on what this database knew before: cursors of content users begin anew, every provider is asked for a
 * full set, sets that were being taken are taken from their beginning, and every machine reads its content again.
 * The caller has a transaction, and tells the sets of the queue anew (`rebuildSets`).
 */
export function beginAnew(db: Db): void {
  db.prepare("UPDATE meta SET value = ? WHERE key = 'store_id'").run(randomUUID());
  // Content may have been damaged or replaced too.
  db.exec('UPDATE store SET syncedseq = 0');
  // Otherwise a full set would fulfil the wish that is made here with its second half alone.
  db.exec('DELETE FROM absorbed WHERE complete = 0; UPDATE held SET state = 3 WHERE state = 0');
  db.exec("UPDATE pidb SET fullsetwanted = 'cache crash'");
  // Sets in the spools of UNSes name sets that this database may not know: none of the next ones has the id of one of those.
  db.prepare(
    "INSERT INTO counter VALUES ('psetid', ?) ON CONFLICT(name) DO UPDATE SET value = value + excluded.value",
  ).run(SKIPPED_SETS);
  // UNSes remember up to which number errors were received, and this database may know less: as a new one it numbers from the clock.
  db.exec(
    "UPDATE sqlite_sequence SET seq = max(seq, CAST(unixepoch('subsec') * 1000 AS INTEGER)) WHERE name = 'pierr'",
  );
}

function identityOf(db: Db): { storeId: string; seq: number } {
  const value = (sql: string) => db.prepare(sql).pluck().get();
  return {
    storeId: String(value("SELECT value FROM meta WHERE key = 'store_id'")),
    seq: lastGiven(db, 'seq'),
  };
}

function noted(path: string): string[] {
  return readIfThere(lastOf(path))?.split('\n') ?? [];
}
