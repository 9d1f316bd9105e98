/**
 * Counters of the providers (pidb) and the change sequence, kept in the transactions that change what they count. A
 * tally lives for one transaction: it reads a row once, collects changes and writes them back as one UPDATE a provider.
 */
import { Counter } from '../counters.js';
import type { Db } from '../open.js';
import { Terms } from '../terms.js';

export interface ProviderUse {
  filesmax: number;
  spacemax: number;
  filesused: number;
  spaceused: number;
}

const UNLIMITED = { filesmax: Number.MAX_SAFE_INTEGER, spacemax: Number.MAX_SAFE_INTEGER };

interface Entry {
  use: ProviderUse;
  files: number;
  space: number;
  errors: number;
  waiting: number;
  /** Content is to be counted anew. */
  recount: boolean;
}

export class Tally {
  readonly #read;
  readonly #write;
  readonly #recount;
  readonly #seq: Counter;
  readonly #terms: Terms;
  #seqTaken = 0;
  #lastSeq: number | undefined;
  readonly #entries = new Map<number, Entry | undefined>();

  constructor(db: Db, terms = new Terms(db)) {
    this.#seq = new Counter(db, 'seq');
    this.#terms = terms;
    this.#read = db
      .prepare<[number], [number, number, number, number]>(
        'SELECT filesmax, spacemax, filesused, spaceused FROM pidb WHERE pid = ?',
      )
      .raw();
    this.#write = db.prepare<[number, number, number, number, number]>(
      `UPDATE pidb SET filesused = max(0, filesused + ?), spaceused = max(0, spaceused + ?),
         nurlerrs = nurlerrs + ?, nurlproc = max(0, nurlproc + ?) WHERE pid = ?`,
    );
    this.#recount = db.prepare<[number, number]>(
      `UPDATE pidb SET (filesused, spaceused) = (SELECT count(*), CAST(total(len) AS INTEGER) FROM lccurl WHERE pid = ?)
       WHERE pid = ?`,
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

  /** The provider's content is counted anew at the end: what a damaged row had added is not known. */
  recount(pid: number): void {
    const entry = this.#entry(pid);
    if (entry !== undefined) entry.recount = true;
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

  /** Rows of the queue change by so many. */
  waiting(pid: number, rows: number): void {
    const entry = this.#entry(pid);
    if (entry !== undefined) entry.waiting += rows;
  }

  /** Writes everything back; call it last in the transaction. */
  flush(): void {
    for (const [pid, entry] of this.#entries) {
      if (entry === undefined) continue;
      this.#write.run(entry.files, entry.space, entry.errors, entry.waiting, pid);
      if (entry.recount) this.#recount.run(pid, pid);
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

  /** Nothing is refused for a quota that nobody set: new sets of a damaged provider are not let in. */
  #limits(pid: number, filesmax: number, spacemax: number): Pick<ProviderUse, 'filesmax' | 'spacemax'> {
    const limits = { filesmax, spacemax };
    return this.#terms.believes(pid, limits) ? limits : UNLIMITED;
  }

  #entry(pid: number): Entry | undefined {
    const known = this.#entries.get(pid);
    if (known !== undefined || this.#entries.has(pid)) return known;
    const raw = this.#read.get(pid);
    const entry = raw && {
      use: { ...this.#limits(pid, raw[0], raw[1]), filesused: raw[2], spaceused: raw[3] },
      files: 0,
      space: 0,
      errors: 0,
      waiting: 0,
      recount: false,
    };
    this.#entries.set(pid, entry);
    return entry;
  }
}
