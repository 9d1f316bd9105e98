/** A disk that fails below a database that is in use. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { openSqlite } from '../../src/lib/sqlite.js';

/** Overwrites all pages but the first, in such a way that who has the database open reads them again. */
export function damagePages(path: string): void {
  const db = openDatabase(path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  const pageBytes = Number(db.pragma('page_size', { simple: true }));
  const pages = Number(db.pragma('page_count', { simple: true }));
  const fd = openSync(path, 'r+');
  writeSync(fd, Buffer.alloc((pages - 1) * pageBytes, 0x55), 0, undefined, pageBytes);
  closeSync(fd);
  // A commit to the first page.
  db.pragma('application_id = 1');
  db.close();
}

/** Changes rows into what the schema forbids, as a flipped bit in a page may. */
export function spoil(path: string, sql: string): void {
  asLoose(path, true);
  const db = openSqlite(path);
  db.pragma('ignore_check_constraints = ON');
  db.exec(sql);
  db.close();
  asLoose(path, false);
}

/** Whether SQLite is to take the tables for such as may hold anything. */
function asLoose(path: string, isLoose: boolean): void {
  const db = openSqlite(path);
  db.unsafeMode(true);
  db.pragma('writable_schema = ON');
  const [from, to] = isLoose ? [') STRICT', ') /*STRICT*/'] : [') /*STRICT*/', ') STRICT'];
  const set = isLoose
    ? "replace(replace(sql, ?, ?), '/*STRICT*/,', '/*STRICT,*/')"
    : "replace(replace(sql, '/*STRICT,*/', '/*STRICT*/,'), ?, ?)";
  db.prepare(`UPDATE sqlite_schema SET sql = ${set} WHERE type = 'table'`).run(from, to);
  db.close();
}
