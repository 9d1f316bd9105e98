/**
 * Which store of each machine the rows point into, and how much of it is known to be on disk. A store that was made again
 * gives out the names of the lost one again: as long as rows or deletions name files of that one, the new one is not the
 * machine's store.
 */
import { Counter } from '../sqlite/counters.js';
import type { Db } from '../sqlite/open.js';

/** A row of lccurl, as far as its content is concerned. */
export interface StoredRow {
  id: number;
  seq: number;
  machineid: string;
  fileid: string;
  md5: string;
  len: number;
}

export class StoreRegister {
  readonly #seq: Counter;
  readonly #selectMachines;
  readonly #selectStore;
  readonly #insertStore;
  readonly #selectNamed;
  readonly #selectSynced;
  readonly #updateSynced;
  readonly #selectSince;

  constructor(db: Db) {
    this.#seq = new Counter(db, 'seq');
    this.#selectMachines = db.prepare<[], string>('SELECT machineid FROM store').pluck();
    this.#selectStore = db.prepare<[string], string>('SELECT storeid FROM store WHERE machineid = ?').pluck();
    this.#insertStore = db.prepare<[string, string, number]>(
      'INSERT OR REPLACE INTO store(machineid, storeid, syncedseq) VALUES (?, ?, ?)',
    );
    this.#selectNamed = db
      .prepare<[string, string], number>(
        `SELECT EXISTS(SELECT 1 FROM lccurl WHERE fetched_machineid = ?)
          OR EXISTS(SELECT 1 FROM freed WHERE machineid = ?)`,
      )
      .pluck();
    this.#selectSynced = db
      .prepare<[string], number>('SELECT syncedseq FROM store WHERE machineid = ?')
      .pluck();
    this.#updateSynced = db.prepare<[number, string]>('UPDATE store SET syncedseq = ? WHERE machineid = ?');
    this.#selectSince = db.prepare<[number, number], StoredRow>(
      `SELECT id, seq, fetched_machineid AS machineid, fetched_fileid AS fileid, md5, len FROM lccurl
       WHERE seq > ? ORDER BY seq LIMIT ?`,
    );
  }

  /** Machines whose store is known: those that hold content, and others that never had any. */
  machines(): string[] {
    return this.#selectMachines.all();
  }

  /** Whether rows can point into this store: it is the one that is known, or nothing names files of another. */
  fits(machineid: string, storeid: string): boolean {
    const known = this.#selectStore.get(machineid);
    return known === undefined || known === storeid || !this.#isNamed(machineid);
  }

  knows(machineid: string, storeid: string): boolean {
    return this.#selectStore.get(machineid) === storeid;
  }

  /** Inside a transaction. */
  remember(machineid: string, storeid: string): void {
    this.#insertStore.run(machineid, storeid, this.#isNamed(machineid) ? 0 : this.#seq.last());
  }

  /** The number of the last change of the LCC DB. */
  lastSeq(): number {
    return this.#seq.last();
  }

  /** Content of the machine with numbers up to this one is on its disk; undefined for a machine without a known store. */
  synced(machineid: string): number | undefined {
    return this.#selectSynced.get(machineid);
  }

  /** Inside a transaction. */
  noteSynced(machineid: string, seq: number): void {
    this.#updateSynced.run(seq, machineid);
  }

  /** Content of all machines that was stored or changed after `afterSeq`, in the order of the change sequence. */
  since(afterSeq: number, limit: number): StoredRow[] {
    return this.#selectSince.all(afterSeq, limit);
  }

  #isNamed(machineid: string): boolean {
    return this.#selectNamed.get(machineid, machineid) !== 0;
  }
}
