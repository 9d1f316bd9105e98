/**
 * Counters of the providers (pidb), kept in the transactions that change what they count. A tally lives for one
 * transaction: it reads a provider's row once, collects changes and writes them back as one UPDATE a provider.
 */
import type { Db } from '../open.js';

export interface ProviderUse {
  filesmax: number;
  spacemax: number;
  filesused: number;
  spaceused: number;
}

interface Entry {
  use: ProviderUse;
  files: number;
  space: number;
  errors: number;
  waiting: number;
}

export class Tally {
  readonly #read;
  readonly #write;
  readonly #entries = new Map<number, Entry | undefined>();

  constructor(db: Db) {
    this.#read = db.prepare<[number], ProviderUse>(
      'SELECT filesmax, spacemax, filesused, spaceused FROM pidb WHERE pid = ?',
    );
    this.#write = db.prepare<[number, number, number, number, number]>(
      `UPDATE pidb SET filesused = max(0, filesused + ?), spaceused = max(0, spaceused + ?),
         nurlerrs = nurlerrs + ?, nurlproc = max(0, nurlproc + ?) WHERE pid = ?`,
    );
  }

  /** What the provider uses, this transaction's changes included; undefined for a provider that was removed. */
  use(pid: number): Readonly<ProviderUse> | undefined {
    return this.#entry(pid)?.use;
  }

  /** Content held changes by so many files and bytes. */
  content(pid: number, files: number, bytes: number): void {
    const entry = this.#entry(pid);
    if (entry === undefined) return;
    entry.files += files;
    entry.space += bytes;
    entry.use.filesused += files;
    entry.use.spaceused += bytes;
  }

  error(pid: number): void {
    const entry = this.#entry(pid);
    if (entry !== undefined) entry.errors++;
  }

  /** Rows of the queue change by so many. */
  waiting(pid: number, rows: number): void {
    const entry = this.#entry(pid);
    if (entry !== undefined) entry.waiting += rows;
  }

  /** Writes everything back; call it last in the transaction. */
  flush(): void {
    for (const [pid, entry] of this.#entries) {
      if (entry !== undefined) this.#write.run(entry.files, entry.space, entry.errors, entry.waiting, pid);
    }
    this.#entries.clear();
  }

  /** Forgets what was collected: after a rollback. */
  reset(): void {
    this.#entries.clear();
  }

  #entry(pid: number): Entry | undefined {
    if (!this.#entries.has(pid)) {
      const use = this.#read.get(pid);
      this.#entries.set(
        pid,
        use === undefined ? undefined : { use, files: 0, space: 0, errors: 0, waiting: 0 },
      );
    }
    return this.#entries.get(pid);
  }
}
