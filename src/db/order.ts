/**
 * order.db, below the spool directory and shared by all UNSes of an LCC: the accepted sets that wait for the Queue
 * Manager, numbered in the order of their acceptance, whichever UNS has them.
 *
 * A number is part of its entry's name. So this database can be made anew from the names in the spools, and is not synced
 * for every set: what a power cut takes is entered again by the next UNS that starts (`agree`), before it numbers
 * anything. A row is entered before its entry gets its name, and goes after the entry has gone; a row without
 * an entry is what a crash left between the two. A damaged one is set aside and made anew in the same way.
 */
import { LccError, errnoOf, messageOf } from '../lib/errors.js';
import { SpoolDatabase, type Caretaker } from './spool-database.js';

/** Where it is below the spool directory, a table it has, and what follows when a damaged one was set aside. */
export const ORDER_DB = {
  file: 'order.db',
  table: 'waiting',
  afterLoss: 'the order of sets that wait is read from the spools',
} as const;

const SCHEMA = `
CREATE TABLE uns(
  id TEXT PRIMARY KEY,
  beat INTEGER NOT NULL DEFAULT 0       -- moves as long as the UNS lives and hands over what it has
) WITHOUT ROWID;
CREATE TABLE waiting(
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  pid INTEGER NOT NULL,
  uns TEXT NOT NULL,
  isfull INTEGER NOT NULL,
  urls INTEGER NOT NULL
);
CREATE INDEX waiting_pid ON waiting(pid, uns, n);`;

/** Skipped in place of a damaged one: what other UNSes took of it and have not yet named must not come again. */
const SKIPPED_NUMBERS = 2 ** 24;

/** A set that waits. */
export interface WaitingEntry {
  pid: number;
  full: boolean;
  urls: number;
}

/** Another UNS that has an earlier set. */
export interface Holder {
  id: string;
  beat: number;
}

export class OrderStore {
  readonly #path: string;
  readonly #uns: string;
  readonly #database: SpoolDatabase;
  readonly #statements;

  /**
   * Opens or makes the database.
   * @param uns the name of this UNS
   */
  constructor(path: string, uns: string, caretaker?: Caretaker) {
    this.#path = path;
    this.#uns = uns;
    this.#database = new SpoolDatabase(path, {
      steps: [SCHEMA],
      synchronous: 'NORMAL',
      afterLoss: ORDER_DB.afterLoss,
      caretaker,
    });
    const { db } = this.#database;
    this.#statements = {
      enter: db.prepare<[number, string, number, number]>(
        'INSERT INTO waiting(pid, uns, isfull, urls) VALUES (?, ?, ?, ?)',
      ),
      restore: db.prepare<[number, number, string, number, number]>(
        'INSERT OR IGNORE INTO waiting(n, pid, uns, isfull, urls) VALUES (?, ?, ?, ?, ?)',
      ),
      leave: db.prepare<[number, string]>('DELETE FROM waiting WHERE n = ? AND uns = ?'),
      holders: db.prepare<[string, number, number], Holder>(
        `SELECT id, beat FROM uns WHERE id <> ?
           AND EXISTS (SELECT 1 FROM waiting WHERE pid = ? AND uns = uns.id AND n < ?)`,
      ),
      beat: db.prepare<[string]>('UPDATE uns SET beat = beat + 1 WHERE id = ?'),
      sum: db.prepare<[number], { sets: number; urls: number; fullSets: number }>(
        'SELECT count(*) AS sets, total(urls) AS urls, total(isfull) AS fullSets FROM waiting WHERE pid = ?',
      ),
      register: db.prepare<[string]>('INSERT OR IGNORE INTO uns(id) VALUES (?)'),
      registered: db.prepare<[], string>('SELECT id FROM uns').pluck(),
      numbers: db.prepare<[string], number>('SELECT n FROM waiting WHERE uns = ?').pluck(),
      forget: db.prepare<[string]>('DELETE FROM waiting WHERE uns = ?'),
      unregister: db.prepare<[string]>('DELETE FROM uns WHERE id = ?'),
      skip: db.prepare<[number]>('UPDATE sqlite_sequence SET seq = seq + ?'),
    };
  }

  /**
   * Makes the rows agree with the spools, at the start of a UNS. Rows of this one without an entry go; those of others
   * may be on their way to one, and stay as long as their spool is there.
   * @param list what lies in all spools, by name of the UNS and number; called while nobody else writes rows
   */
  agree(list: () => ReadonlyMap<string, ReadonlyMap<number, WaitingEntry>>): void {
    this.#write(() => {
      const spools = list();
      this.#statements.register.run(this.#uns);
      for (const [uns, entries] of spools) {
        this.#statements.register.run(uns);
        for (const [n, { pid, full, urls }] of entries)
          this.#statements.restore.run(n, pid, uns, Number(full), urls);
      }
      const own = spools.get(this.#uns);
      for (const n of this.#statements.numbers.all(this.#uns))
        if (own?.has(n) !== true) this.#statements.leave.run(n, this.#uns);
      for (const uns of this.#statements.registered.all()) {
        if (uns === this.#uns || spools.has(uns)) continue;
        this.#statements.forget.run(uns);
        this.#statements.unregister.run(uns);
      }
      if (this.#database.isLost) this.#skip();
    });
  }

  /** Goes on far above all numbers there are. */
  #skip(): void {
    const { enter, leave, skip } = this.#statements;
    // Only a row that was there once makes SQLite remember a number.
    leave.run(Number(enter.run(0, this.#uns, 0, 0).lastInsertRowid), this.#uns);
    skip.run(SKIPPED_NUMBERS);
    this.#database.forgetLoss();
  }

  /** Numbers sets that are about to be accepted, in their order. @throws LccError `io.full` or `io` */
  enter(entries: readonly WaitingEntry[]): number[] {
    return this.#write(() => {
      this.#statements.beat.run(this.#uns);
      return entries.map(({ pid, full, urls }) =>
        Number(this.#statements.enter.run(pid, this.#uns, Number(full), urls).lastInsertRowid),
      );
    });
  }

  /** Sets of this UNS wait no longer. @throws LccError `io.full` or `io` */
  leave(numbers: readonly number[]): void {
    this.#write(() => numbers.forEach(n => this.#statements.leave.run(n, this.#uns)));
  }

  /** The other UNSes that have a set of the provider accepted before number `n`. @throws LccError `io` */
  holders(pid: number, n: number): Holder[] {
    return this.#guard(() => this.#statements.holders.all(this.#uns, pid, n));
  }

  /** This UNS lives and hands over. */
  beat(): void {
    this.#write(() => this.#statements.beat.run(this.#uns));
  }

  /** Of a provider, in all spools. @throws LccError `io` */
  waiting(pid: number): { sets: number; urls: number; fullSets: number } {
    return this.#guard(() => this.#statements.sum.get(pid)) ?? { sets: 0, urls: 0, fullSets: 0 };
  }

  close(): void {
    this.#database.db.close();
  }

  #write<T>(action: () => T): T {
    return this.#guard(() => this.#database.write(action));
  }

  #guard<T>(action: () => T): T {
    try {
      return this.#database.guard(action);
    } catch (error) {
      if (error instanceof LccError) throw error;
      const code = errnoOf(error) === 'SQLITE_FULL' ? 'io.full' : 'io';
      throw new LccError(code, `${this.#path}: ${messageOf(error)}`, { cause: error });
    }
  }
}
