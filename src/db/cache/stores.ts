/**
 * Which store of each machine the rows point into. A store that was made anew gives out the names of the lost one again:
 * as long as rows or deletions name files of that one, the new one is not the machine's store.
 */
import type { Db } from '../open.js';

export class StoreRegister {
  readonly #known;
  readonly #remember;
  readonly #named;

  constructor(db: Db) {
    this.#known = db.prepare<[string], string>('SELECT storeid FROM store WHERE machineid = ?').pluck();
    this.#remember = db.prepare<[string, string]>('INSERT OR REPLACE INTO store VALUES (?, ?)');
    this.#named = db
      .prepare<[string, string], number>(
        `SELECT EXISTS(SELECT 1 FROM lccurl WHERE fetched_machineid = ?)
          OR EXISTS(SELECT 1 FROM freed WHERE machineid = ?)`,
      )
      .pluck();
  }

  /** Whether rows can point into this store: it is the one that is known, or nothing names files of another. */
  fits(machineid: string, storeid: string): boolean {
    const known = this.#known.get(machineid);
    return known === undefined || known === storeid || this.#named.get(machineid, machineid) === 0;
  }

  knows(machineid: string, storeid: string): boolean {
    return this.#known.get(machineid) === storeid;
  }

  remember(machineid: string, storeid: string): void {
    this.#remember.run(machineid, storeid);
  }
}
