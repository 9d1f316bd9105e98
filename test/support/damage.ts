/** A disk that fails below a database that is in use. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { openDatabase } from '../../src/db/open.js';

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
