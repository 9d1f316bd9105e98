/**
 * Which store of each machine the rows point into, and how much of it is known to be on disk. A store that
 * was made again gives out the names of the lost one again: as long as rows or deletions name files of that
 * one, the new one is not the machine's store.
 */
import { areOtherNames } from '../names/ids-in-use.js';
import type { StoreWord } from '../names/store-mark.js';
import { Counter } from '../sqlite/counters.js';
import { SqlStore } from '../sqlite/sql-store.js';

/** A row of lccurl, as far as its content is concerned. */
export interface StoredRow {
  id: number;
  seq: number;
  machineid: string;
  fileid: string;
  md5: string;
  len: number;
}

export class StoreRegister extends SqlStore {
  readonly #seq = new Counter(this.db, 'seq');
  readonly #selectStore = this.sql.value<[machineid: string], string>(
    'SELECT storeid FROM store WHERE machineid = ?',
  );
  readonly #selectRun = this.sql.row<[machineid: string], { storeid: string; starts: number; run: string }>(
    'SELECT storeid, starts, run FROM store WHERE machineid = ?',
  );
  readonly #updateRun = this.sql.run<[starts: number, run: string, machineid: string]>(
    'UPDATE store SET starts = ?, run = ? WHERE machineid = ?',
  );
  readonly #insertStore = this.sql.run<[machineid: string, storeid: string, syncedseq: number]>(
    'INSERT OR REPLACE INTO store(machineid, storeid, syncedseq) VALUES (?, ?, ?)',
  );
  readonly #selectNamed = this.sql.value<[contentOf: string, freedOf: string], number>(
    `SELECT EXISTS(SELECT 1 FROM lccurl WHERE fetched_machineid = ?)
      OR EXISTS(SELECT 1 FROM freed WHERE machineid = ?)`,
  );
  readonly #updateSynced = this.sql.run<[seq: number, machineid: string]>(
    'UPDATE store SET syncedseq = ? WHERE machineid = ?',
  );

  /** Machines whose store is known: those that hold content, and others that never had any. */
  readonly machines = this.sql.values<[], string>('SELECT machineid FROM store');

  /**
   * True if rows can point into this store: it is the one that is known, or nothing names files of another.
   */
  fits(machineid: string, storeid: string): boolean {
    const known = this.#selectStore(machineid);
    return known === undefined || known === storeid || !this.#isNamed(machineid);
  }

  knows(machineid: string, storeid: string): boolean {
    return this.#selectStore(machineid) === storeid;
  }

  /** True if the store is older than it was when its Bot Manager was here last: what was done since is not in
   * it. */
  isOlder(machineid: string, { id, starts, run }: StoreWord): boolean {
    const known = this.#selectRun(machineid);
    if (known?.storeid !== id || starts === undefined || starts === 1 || known.starts === 0) return false;
    return starts < known.starts || (starts === known.starts && run !== known.run);
  }

  /** Which run of its Bot Manager is here. Content is read again where its names are new, for they were lost.
   * Inside a transaction. */
  noteRun(machineid: string, { starts = 0, run }: StoreWord): void {
    const known = this.#selectRun(machineid);
    if (known?.starts === starts && known.run === run) return;
    if (known !== undefined && known.starts > 0 && areOtherNames(starts, known.starts))
      this.#updateSynced(0, machineid);
    this.#updateRun(starts, run, machineid);
  }

  /** Inside a transaction. */
  remember(machineid: string, storeid: string): void {
    this.#insertStore(machineid, storeid, this.#isNamed(machineid) ? 0 : this.#seq.last());
  }

  /** The number of the last change of the LCC DB. */
  lastSeq(): number {
    return this.#seq.last();
  }

  /** Content of the machine with numbers up to this one is on its disk; undefined for a machine without a
   * known store. */
  readonly synced = this.sql.value<[machineid: string], number>(
    'SELECT syncedseq FROM store WHERE machineid = ?',
  );

  /** Inside a transaction. */
  noteSynced(machineid: string, seq: number): void {
    this.#updateSynced(seq, machineid);
  }

  /** Content of all machines that was stored or changed after `afterSeq`, in the order of the change
   * sequence. */
  readonly since = this.sql.rows<[afterSeq: number, limit: number], StoredRow>(
    `SELECT id, seq, fetched_machineid AS machineid, fetched_fileid AS fileid, md5, len FROM lccurl
     WHERE seq > ? ORDER BY seq LIMIT ?`,
  );

  #isNamed(machineid: string): boolean {
    return this.#selectNamed(machineid, machineid) !== 0;
  }
}
