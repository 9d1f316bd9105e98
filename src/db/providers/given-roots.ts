/**
 * Roots that a reset of the password has given up: nothing is fetched below them and nothing is announced
 * there, but what is held stays for `rs.leave_ms`, in which a root that is proven again finds it
 * (departures.ts removes it then).
 */
import { strictRootCheck } from '../../wire/roots.js';
import { SqlStore } from '../sqlite/sql-store.js';

export interface GivenRoot {
  root: string;
  /** When what is held of it is removed, seconds. */
  at: number;
}

export class GivenRoots extends SqlStore {
  readonly #roots = this.sql.values<[pid: number], string>('SELECT root FROM proots WHERE pid = ?');
  readonly #after = this.sql.values<[pid: number, afterS: number], string>(
    'SELECT root FROM givenroot WHERE pid = ? AND at > ?',
  );

  /** Ascending. */
  readonly of = this.sql.rows<[pid: number], GivenRoot>(
    'SELECT root, at FROM givenroot WHERE pid = ? ORDER BY root',
  );

  readonly add = this.sql.run<[pid: number, root: string, atS: number]>(
    'INSERT OR REPLACE INTO givenroot VALUES (?, ?, ?)',
  );

  /** Those whose time was over then. */
  readonly forget = this.sql.run<[pid: number, untilS: number]>(
    'DELETE FROM givenroot WHERE pid = ? AND at <= ?',
  );

  /**
   * Which addresses outside of the roots of a provider keep what is held of them.
   * @param afterS those of which the time was over then do not count
   * @returns undefined: none
   */
  keeperOf(pid: number, afterS = 0): ((url: string) => boolean) | undefined {
    const given = this.#after(pid, afterS);
    if (given.length === 0) return undefined;
    const [isGiven, isInside] = [strictRootCheck(given), strictRootCheck(this.#roots(pid))];
    return url => isGiven(url) && !isInside(url);
  }
}
