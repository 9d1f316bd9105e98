/** Providers that are being moved, as their two shards have it: table `moving`. */
import { LccError } from '../../lib/errors.js';
import { SqlStore } from '../sqlite/sql-store.js';
import { SiteLogins } from '../providers/site-logins.js';

/** SQL of those. */
export const MOVING = 'SELECT pid FROM moving';

/** Condition of statements by which a provider loses or gets something of itself: while it moves, only a part
 * of its rows is here. */
export const STAYS = `pid NOT IN (${MOVING})`;

export type MoveWay = 'out' | 'in';

export class MovingStore extends SqlStore {
  readonly #leave = this.sql.run<[pid: number, login: string | null]>(
    "INSERT OR REPLACE INTO moving VALUES (?, 'out', ?)",
  );
  readonly #rowOfLogin = this.sql.value<[pid: number], string>('SELECT login FROM sitelogin WHERE pid = ?');
  readonly #logins = new SiteLogins(this.db);

  /** undefined: it is not moving. */
  readonly wayOf = this.sql.value<[pid: number], MoveWay>('SELECT way FROM moving WHERE pid = ?');

  readonly all = this.sql.values<[], number>(`${MOVING} ORDER BY pid`);
  /** All others of the home. */
  readonly staying = this.sql.values<[], number>(`SELECT pid FROM pidb WHERE ${STAYS}`);

  /** @throws LccError `try.later` while it moves */
  requireStaying(pid: number): void {
    if (this.wayOf(pid) !== undefined)
      throw new LccError(
        'try.later',
        `provider ${pid} moves to another home; lccmap list says how far it has come`,
      );
  }

  /** The provider leaves from now on, with the login for its site. Inside a transaction. */
  leave(pid: number): void {
    const row = this.#rowOfLogin(pid);
    this.#leave(pid, row === undefined ? null : (this.#logins.of(pid, row) ?? null));
  }

  /** Rows of the provider come from now on. Inside a transaction. */
  readonly come = this.sql.run<[pid: number]>("INSERT OR REPLACE INTO moving VALUES (?, 'in', NULL)");

  /** The provider is here, and goes on. Inside a transaction. */
  readonly settle = this.sql.run<[pid: number]>('DELETE FROM moving WHERE pid = ?');
}
