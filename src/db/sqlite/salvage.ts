/**
 * A damaged lcc.db is set aside, never overwritten, and a new one started with what can still be read of it
 * (semantics.md, rule 22). Every provider is then asked for a full set, and the new database has a new store
 * id, so that content users resynchronise: what could not be read has left no tombstones.
 *
 *     lcc.db damaged ─▶ lcc.db.new built from it ─▶ lcc.db renamed to lcc.db.damaged-TIME
 *       ─▶ lcc.db.new renamed to lcc.db
 *
 * A crash before it is noted that lcc.db leaves (aside.ts) begins again; after that the next start goes on.
 */
import { existsSync, rmSync } from 'node:fs';
import { renameDurably } from '../../lib/durable.js';
import { errnoOf, LccError, messageOf } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import { openSqlite } from '../../lib/sqlite.js';
import { step } from '../../lib/steps.js';
import { asideName, beginLeaving, endLeaving, finishLeaving } from './aside.js';
import { SHARD_NUMBERS } from '../../config/shards.js';
import { raiseCounters } from './counters.js';
import { forgetMarks } from './marks.js';
import { isLaterTable, openDatabase, START_EMPTY, type Db, type Statement } from './open.js';
import { rebuildSets } from '../queue/sets-from-urls.js';
import { beginAnew } from './restored.js';
import { Sql } from './sql-store.js';
import { forgetSuspicion, isTrusted } from './suspicion.js';

/** Tables copied, providers first; of qpsdb only what the urls do not tell is kept. */
export const SALVAGED_TABLES = [
  'counter',
  'pidb',
  'proots',
  'givenroot',
  'sitelogin',
  'moving',
  'rsop',
  'lccurl',
  'tombstone',
  'oldpath',
  'qfolder',
  'queued',
  'absorbed',
  'pierr',
  'freed',
  'qpsdb',
  'held',
  'helddelete',
  'agemark',
  'store',
  'known',
  'robots',
  'visit',
  'truth',
  'pushday',
  'audit',
  'failure',
] as const;

/** Refusal of a damaged database that is replaced only at the operator's request. */
export const NO_PROVIDER = `damaged, and no provider can be read of it; ${START_EMPTY}`;

/** Said of a new database that nobody can be asked to fill. */
export const NOBODY_LEFT =
  'a new database has been started; no provider is in it: add them again with lccpidb add';

/**
 * Opens the database for writing; one that is damaged is set aside and replaced by what can be read of it.
 * @param how.fromNothing begin again even when no provider can be read
 * @param how.shard of the home
 * @throws LccError as openDatabase; `config` alone for damage: no provider is left to ask for a full set
 */
export function openOrSalvage(
  path: string,
  nowMs: number,
  log: Log,
  { shard = 0, fromNothing = false }: { shard?: number; fromNothing?: boolean } = {},
): Db {
  finishSalvage(path);
  try {
    const db = openDatabase(path);
    if (isTrusted(db, path, nowMs)) return db;
    db.close();
  } catch (error) {
    if (!(error instanceof LccError) || error.code !== 'data.malformed') throw error;
    log.error('database damaged', { path, error: messageOf(error.cause) });
  }
  const aside = asideName(path, 'damaged', nowMs);
  const copied = buildNew(path, { log, shard, fromNothing });
  step('db.salvage.built');
  beginLeaving(path, aside);
  finishSalvage(path);
  log.error(
    (copied['pidb'] ?? 0) === 0
      ? NOBODY_LEFT
      : 'a new database has been started; every provider is asked for a full set',
    { aside, ...copied },
  );
  return openDatabase(path);
}

/** True if a damaged database can be replaced by what can be read of it; else openOrSalvage refuses to,
 * unless it is to begin from nothing. */
export function canSalvage(path: string): boolean {
  const old = openDamaged(path);
  if (old === undefined) return false;
  try {
    return canRead(old, 'pidb') || canRead(old, 'pidb ORDER BY pid DESC');
  } finally {
    old.close();
  }
}

/** Replaces a database that is leaving by the new one, which was complete before that was noted. */
export function finishSalvage(path: string): void {
  if (finishLeaving(path) === undefined) return;
  step('db.salvage.aside');
  if (!existsSync(path) && existsSync(newOf(path))) renameDurably(newOf(path), path);
  forgetSuspicion(path);
  // They are of the database that has left.
  forgetMarks(path);
  endLeaving(path);
}

/** @throws LccError `config` when no provider can be read, though there may have been some */
function buildNew(
  path: string,
  { log, shard, fromNothing }: { log: Log; shard: number; fromNothing: boolean },
): Record<string, number> {
  const fresh = newOf(path);
  removeDatabase(fresh);
  const db = openDatabase(fresh);
  const copied: Record<string, number> = {};
  try {
    const old = openDamaged(path);
    if (old !== undefined) {
      db.pragma('foreign_keys = OFF');
      db.transaction(() => {
        // Before version 8 a url that waits was whole.
        const tables = SALVAGED_TABLES.map(each => (each === 'queued' && isTable(old, 'qdb') ? 'qdb' : each));
        for (const table of tables) copied[table] = copyTable(old, db, table, log);
        goOnNumberingErrors(old, db, log);
        const lost = db
          .prepare('DELETE FROM queued WHERE pos IN (SELECT pos FROM qdb WHERE curl IS NULL)')
          .run().changes;
        if (lost > 0) log.warn('rows left out: their folders are lost', { table: 'queued', rows: lost });
        repair(db, shard);
      })();
    }
    const isNothing = (copied['pidb'] ?? 0) === 0 && (old === undefined || !canRead(old, 'pidb'));
    old?.close();
    if (isNothing && !fromNothing) throw new LccError('config', `${path}: ${NO_PROVIDER}`);
    db.pragma('wal_checkpoint(TRUNCATE)');
  } catch (error) {
    db.close();
    // An unfinished copy must not be taken for the database when the damaged one is moved away.
    removeDatabase(fresh);
    throw error;
  }
  db.close();
  return copied;
}

/** Removes the files of a database that nobody has open. */
function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}

function canRead(db: Db, table: string): boolean {
  try {
    db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get();
    return true;
  } catch {
    return false;
  }
}

/** A damaged database, for reading what can be read of it; undefined: nothing. */
function openDamaged(path: string): Db | undefined {
  try {
    const db = openSqlite(path, { readonly: true, fileMustExist: true });
    // Otherwise SQLite reads nothing at all of a file with fewer pages than its header says.
    db.unsafeMode(true);
    db.pragma('writable_schema = ON');
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return db;
  } catch {
    return undefined;
  }
}

/**
 * Copies what can be read: forwards to the first unreadable row, then backwards from the end. @returns rows
 */
function copyTable(old: Db, db: Db, table: string, log: Log): number {
  let copied = 0;
  let leftOut = 0;
  for (const order of ['ASC', 'DESC']) {
    try {
      const there = columnsOf(old, table);
      if (there.length === 0) {
        // A database of an older release has fewer tables.
        if (isLaterTable(table, Number(old.pragma('user_version', { simple: true })))) return 0;
        log.warn('table missing in the damaged database: its rows are lost', { table });
        return 0;
      }
      // A database of an older release has fewer.
      const columns = columnsOf(db, table).filter(column => there.includes(column));
      const insert = db.prepare(
        `INSERT ${table === 'counter' ? 'OR REPLACE ' : ''}INTO ${table}(${columns.join(',')})
         VALUES (${columns.map(() => '?').join(',')})`,
      );
      const key = keyOf(old, table);
      const rows = old
        .prepare<[], unknown[]>(
          `SELECT ${columns.join(',')} FROM ${table} NOT INDEXED ORDER BY ${key} ${order}`,
        )
        .raw();
      for (const row of rows.iterate()) {
        const changes = insertWhole(insert, row);
        if (changes === undefined) {
          leftOut++;
          continue;
        }
        // Met the rows copied from the other end.
        if (order === 'DESC' && changes === 0) break;
        copied += changes;
      }
      if (leftOut > 0) log.warn('rows left out: the schema does not allow them', { table, rows: leftOut });
      return copied;
    } catch (error) {
      log.warn('cannot read the whole table', { table, direction: order, error: messageOf(error) });
    }
  }
  return copied;
}

/**
 * @returns how many rows that made, 0 where it is there already; undefined for one that the schema does not
 * allow
 */
function insertWhole(insert: Statement, row: unknown[]): number | undefined {
  // No column is a REAL.
  if (row.some(value => typeof value === 'number' && !Number.isSafeInteger(value))) return undefined;
  try {
    insert.run(...row);
    return 1;
  } catch (error) {
    const code = errnoOf(error) ?? '';
    if (code === 'SQLITE_CONSTRAINT_PRIMARYKEY') return 0;
    if (code.startsWith('SQLITE_CONSTRAINT')) return undefined;
    throw error;
  }
}

/** Far beyond any clock; what a damaged page has beyond it could not be counted on from. */
const MOST_ERRORS = 2 ** 52;

/** Errors up to the last one that was received are forgotten, and each UNS remembers which that was: it had a
 * number below the next one's, whatever the clock says that a new database numbers from. */
function goOnNumberingErrors(old: Db, db: Db, log: Log): void {
  try {
    const last = new Sql(old).value<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'pierr'")();
    if (last !== undefined && last < MOST_ERRORS)
      db.prepare("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'pierr'").run(last);
  } catch (error) {
    log.warn('cannot read the last number of an error', { error: messageOf(error) });
  }
}

function isTable(db: Db, name: string): boolean {
  return new Sql(db).has<[name: string]>("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?")(
    name,
  );
}

/** Columns that are stored, not generated. */
function columnsOf(db: Db, table: string): string[] {
  const stored = 'SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0';
  return new Sql(db).values<[table: string], string>(stored)(table);
}

/** Name of the table's rowid, or the columns of its primary key. */
function keyOf(db: Db, table: string): string {
  const key = 'SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk';
  return new Sql(db).values<[table: string], string>(key)(table).join(', ');
}

/** Makes what was copied agree with itself, and asks for the rest. */
function repair(db: Db, shard: number): void {
  raiseCounters(db, shard);
  beginAnew(db, 'cache crash');
  rebuildSets(db);
  db.exec(`
    UPDATE counter SET value = max(value, (SELECT coalesce(max(psetid), 0) FROM queued),
      (SELECT coalesce(max(psetid), 0) FROM lccurl WHERE psetid < ${(shard + 1) * SHARD_NUMBERS})) WHERE name = 'psetid';
    UPDATE pidb SET (filesused, spaceused) =
      (SELECT count(*), CAST(total(len) AS INTEGER) FROM lccurl WHERE lccurl.pid = pidb.pid),
      nurlproc = (SELECT count(*) FROM queued WHERE queued.pid = pidb.pid),
      nurlerrs = (SELECT count(*) FROM pierr WHERE pierr.pid = pidb.pid);
  `);
}

/** Where the new database is made that takes the place of a damaged one. */
const newOf = (path: string) => `${path}.new`;
