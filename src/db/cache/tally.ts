/**
 * Counters of the providers (pidb) and the change sequence, kept in the transactions that change what they
 * count. A tally lives for one transaction: it reads a row once, collects changes and writes them back as one
 * UPDATE a provider.
 */
import { Counter } from '../sqlite/counters.js';
import { SqlStore } from '../sqlite/sql-store.js';

export interface ProviderUse {
  filesmax: number;
  spacemax: number;
  filesused: number;
  spaceused: number;
  /** Content must be what was announced. */
  enforced: boolean;
}

interface Entry {
  use: ProviderUse;
  files: number;
  space: number;
  errors: number;
  waiting: number;
}

export class Tally extends SqlStore {
  readonly #selectUse = this.sql.row<[pid: number], Omit<ProviderUse, 'enforced'> & { enforce: number }>(
    'SELECT filesmax, spacemax, filesused, spaceused, enforce FROM pidb WHERE pid = ?',
  );
  readonly #updateUse = this.sql.run<
    [files: number, space: number, errors: number, waiting: number, pid: number]
  >(
    `UPDATE pidb SET filesused = max(0, filesused + ?), spaceused = max(0, spaceused + ?),
       nurlerrs = nurlerrs + ?, nurlproc = max(0, nurlproc + ?) WHERE pid = ?`,
  );
  readonly #seq = new Counter(this.db, 'seq');
  #seqTaken = 0;
  #lastSeq: number | undefined;
  readonly #entries = new Map<number, Entry | undefined>();

  /**
   * The use of a provider, this transaction's changes included; undefined for a provider that was removed.
   */
  use(pid: number): Readonly<ProviderUse> | undefined {
    return this.#entry(pid)?.use;
  }

  /** Adds these changes to the files and bytes held. */
  content(pid: number, files: number, bytes: number): void {
    const entry = this.#entry(pid);
    if (entry === undefined) return;
    entry.files += files;
    entry.space += bytes;
    entry.use.filesused += files;
    entry.use.spaceused += bytes;
  }

  /** The number that the next change of the LCC DB has; it stays the next until `takeSeq`. */
  get nextSeq(): number {
    this.#lastSeq ??= this.#seq.last();
    return this.#lastSeq + this.#seqTaken + 1;
  }

  /** Takes the next number of the change sequence. */
  takeSeq(): number {
    const seq = this.nextSeq;
    this.#seqTaken++;
    return seq;
  }

  error(pid: number): void {
    const entry = this.#entry(pid);
    if (entry !== undefined) entry.errors++;
  }

  /** The provider's errors are all gone, those that this transaction has only counted too. */
  forgetErrors(pid: number): void {
    const entry = this.#entry(pid);
    if (entry !== undefined) entry.errors = 0;
  }

  /** Adds this change to the rows of the queue. */
  waiting(pid: number, rows: number): void {
    const entry = this.#entry(pid);
    if (entry !== undefined) entry.waiting += rows;
  }

  /** Writes everything back; call it last in the transaction. */
  flush(): void {
    for (const [pid, entry] of this.#entries) {
      if (entry === undefined) continue;
      this.#updateUse(entry.files, entry.space, entry.errors, entry.waiting, pid);
    }
    if (this.#seqTaken > 0) this.#seq.take(this.#seqTaken);
    this.reset();
  }

  /** Forgets what was collected: after a rollback. */
  reset(): void {
    this.#entries.clear();
    this.#lastSeq = undefined;
    this.#seqTaken = 0;
  }

  #entry(pid: number): Entry | undefined {
    const known = this.#entries.get(pid);
    if (known !== undefined || this.#entries.has(pid)) return known;
    const row = this.#selectUse(pid);
    const counted = { files: 0, space: 0, errors: 0, waiting: 0 };
    const entry = row && { use: { ...row, enforced: row.enforce !== 0 }, ...counted };
    this.#entries.set(pid, entry);
    return entry;
  }
}
