/**
 * Logins for sites that ask for a user and a password (RFC 7617). They stand as they are in a file beside
 * lcc.db, `logins`, which its owner alone can read: those who may read the cache read lcc.db as well. There a
 * row of `sitelogin` says that a provider has one; a database in memory has the login itself there, as files
 * had up to 0.2.0.
 *
 *     change:  file, synced ──▶ row, committed ──▶ the Queue Manager notices the commit, and reads both
 */
import { dirname, join } from 'node:path';
import { LOGINS } from '../../config/kept.js';
import { KeyedLines } from '../../lib/keyed-lines.js';
import type { Db } from '../../lib/sqlite.js';
import { Sql } from '../sqlite/sql-store.js';

/** In a row: the login stands in the file. */
const ELSEWHERE = '';

export class SiteLogins {
  readonly #file: KeyedLines | undefined;

  constructor(db: Db) {
    this.#file = db.memory
      ? undefined
      : new KeyedLines(join(dirname(db.name), LOGINS), {
          mode: 0o600,
          fits: (pid, login) => /^[1-9]\d*$/.test(pid) && login.includes(':'),
          misfit: 'not PID USER:PASSWORD; such lines are written by lccpidb set --loginfile',
        });
  }

  /** @returns undefined: it has none, though the row says so @throws LccError as `KeyedLines.all` */
  of(pid: number, row: string): string | undefined {
    return row === ELSEWHERE ? this.#file?.all().get(String(pid)) : row;
  }

  /**
   * Within a transaction, which keeps others out; undefined: it has none any more.
   * @returns what the row says
   */
  set(pid: number, login: string | undefined): string {
    if (this.#file === undefined) return login ?? ELSEWHERE;
    const all = new Map(this.#file.all());
    if (login !== undefined) all.set(String(pid), login);
    else if (!all.delete(String(pid))) return ELSEWHERE;
    this.#file.replace(all);
    return ELSEWHERE;
  }
}

/**
 * Moves logins that stand in the database, of an older LCC, into the file, and overwrites where they stood.
 */
export function moveLogins(db: Db): void {
  const rows = new Sql(db).rows<[], { pid: number; login: string }>(
    `SELECT pid, login FROM sitelogin WHERE login <> '${ELSEWHERE}'`,
  );
  if (db.memory || rows().length === 0) return;
  db.pragma('secure_delete = ON');
  db.transaction(() => {
    const logins = new SiteLogins(db);
    for (const { pid, login } of rows()) logins.set(pid, login);
    db.prepare('UPDATE sitelogin SET login = ?').run(ELSEWHERE);
  }).immediate();
  db.pragma('secure_delete = OFF');
  // The log has copies of the pages from before.
  db.pragma('wal_checkpoint(TRUNCATE)');
}
