/**
 * Marks of how far a database had come, in files beside it: a restored older copy does not bring these back
 * with it.
 *
 *     commits ──a second later──▶ counter `mark` raised, committed ──▶ lcc.db.last-N written durably
 *       ──▶ those below N-1 removed
 *
 * A mark is written after the commit that raised the number: after a power cut none is ahead of the database.
 * The number is part of the name, so that files copied over these leave the newest one where it is; the one
 * before it stays, so that a copy made file by file has one of the two. Besides the number a mark says which
 * database it is of (`store_id`), when its file was made (a copy is made later), and whether the daemon that
 * serves it has stopped.
 */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../lib/clock.js';
import { writeFileDurably, writeFileDurablyAside } from '../../lib/durable.js';
import { messageOf } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import { readIfThere } from '../../lib/read-if-there.js';
import type { Db } from '../../lib/sqlite.js';
import { step } from '../../lib/steps.js';
import { lastGiven } from './counters.js';
import { SqlStore } from './sql-store.js';

/** Between two marks at least; what was committed since the last one may be missing in a copy without being
 * noticed. */
const INTERVAL_MS = 1000;

interface Mark {
  number: number;
  storeId: string;
  /** The last number of the change sequence, or of what else is numbered there. */
  seq: number;
  /** When the file of the database was made, '' where the file system does not say. */
  made: string;
  state: 'serving' | 'stopped';
}

type Noted = Omit<Mark, 'state'>;

/** A kind of database that has marks. */
export interface Marked {
  /** Name of the numbered things, in words. */
  what: string;
  /** Who writes the marks, in words. */
  servedBy: string;
  lastOf: (db: Db) => number;
  /** The advice about an older copy; left out: as of lcc.db. */
  remedy?: string;
}

/** Schema that marks need where there is no table `meta` … */
export const MARK_META = `
-- store_id: made with the database, by which the marks beside it know it.
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('store_id', lower(hex(randomblob(16))));
`;
/** … and of one that has no `counter` either. */
export const MARK_SCHEMA = `${MARK_META}
-- mark: raised with whatever is committed; the same number stands beside the database (db/sqlite/marks.ts).
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO counter VALUES ('mark', 0);
`;

export const LCC_DB: Marked = {
  what: 'change',
  servedBy: 'Queue Manager',
  lastOf: db => lastGiven(db, 'seq'),
};

/** The mark of a database as it would be now, but for the state. */
export function markOf(db: Db, path: string, { lastOf }: Marked = LCC_DB): Noted {
  const value = (sql: string) => db.prepare(sql).pluck().get();
  return {
    number: Number(value("SELECT value FROM counter WHERE name = 'mark'") ?? 0),
    storeId: String(value("SELECT value FROM meta WHERE key = 'store_id'")),
    seq: lastOf(db),
    made: madeOf(path) === lastChanged(path) ? '' : madeOf(path),
  };
}

/** The newest mark beside a database. */
export function newestMark(path: string): Mark | undefined {
  const number = Math.max(...numbersOf(path));
  if (number < 0) return undefined;
  const [storeId = '', seq, made = '', state] = readIfThere(fileOf(path, number))?.split('\n') ?? [];
  return { number, storeId, seq: Number(seq), made, state: state === 'stopped' ? 'stopped' : 'serving' };
}

/**
 * Raises the number and notes it, for a command that has committed something while no daemon may be there to
 * do so, or for a database that takes the place of a lost one. What was never served has no marks. The caller
 * has seen that the database is the one served last, or makes it.
 * @throws system errors, what SQLite throws
 */
export function noteMark(db: Db, path: string, kind: Marked): void {
  const newest = newestMark(path);
  if (newest === undefined) return;
  db.prepare("UPDATE counter SET value = max(value, ?) + 1 WHERE name = 'mark'").run(newest.number);
  const mark = markOf(db, path, kind);
  writeFileDurably(fileOf(path, mark.number), textOf(mark, newest.state));
  removeBelow(path, mark.number - 1);
}

/** Nothing is known any more of the database that was there. */
export function forgetMarks(path: string): void {
  removeBelow(path, Infinity);
}

/** Identity that no database has. */
const RESTORING = 'being restored';

/** Nothing is served here until a database has been put there and has begun again. @param which copy of it, a
 * number */
export function markRestoring(path: string, which: number): void {
  const mark = { number: 0, storeId: RESTORING, seq: which, made: '' };
  writeFileDurably(fileOf(path, 0), textOf(mark, 'serving'));
}

/** The copy that is being put there; undefined: none is. */
export function restoringOf(path: string): number | undefined {
  const mark = newestMark(path);
  return mark?.storeId === RESTORING ? mark.seq : undefined;
}

export interface MarksOptions {
  clock: Pick<Clock, 'after'>;
  log: Log;
  /** A transaction failed; true: try again later. */
  failed: (error: unknown) => boolean;
  /** Left out: lcc.db. */
  kind?: Marked;
  /** A mark is on disk. */
  noted?: () => void;
}

/** The marks of a database that is served. */
export class Marks extends SqlStore {
  readonly #path: string;
  readonly #options: MarksOptions;
  readonly #raiseMark = this.sql.run<unknown[]>("UPDATE counter SET value = value + 1 WHERE name = 'mark'");
  /** Something was committed since the last mark. */
  #isDue = false;
  #cancel: (() => void) | undefined;
  #writing: Promise<void> | undefined;
  #isUnable = false;
  #isOver = false;

  constructor(db: Db, path: string, options: MarksOptions) {
    super(db);
    this.#path = path;
    this.#options = options;
  }

  /** Notes that the database is served from now on: before anything is promised. */
  start(): void {
    this.#writeNow('serving');
  }

  /** Something was committed, by whichever process. */
  committed(): void {
    this.#isDue = true;
    if (this.#isOver || this.#writing !== undefined) return;
    this.#cancel ??= this.#options.clock.after(INTERVAL_MS, () => this.#mark());
  }

  /** Nothing more will be committed. */
  stop(): void {
    this.#isOver = true;
    this.#cancel?.();
    try {
      // One that is being written just now must not come after the last one.
      if (this.#isDue || this.#writing !== undefined) this.#raise();
      this.#writeNow('stopped');
    } catch (error) {
      this.#unable(error);
    }
  }

  /** The number, and with it all that was committed before, is on disk: also in a database that is synced
   * aside. */
  #raise(): void {
    const synchronous = Number(this.db.pragma('synchronous', { simple: true }));
    this.db.pragma('synchronous = FULL');
    try {
      this.#raiseMark();
    } finally {
      this.db.pragma(`synchronous = ${synchronous}`);
    }
  }

  #mark(): void {
    this.#cancel = undefined;
    this.#isDue = false;
    try {
      this.#raise();
    } catch (error) {
      if (this.#options.failed(error)) this.committed();
      return;
    }
    this.#writing = this.#writeAside().finally(() => {
      this.#writing = undefined;
      if (this.#isDue) this.committed();
    });
  }

  async #writeAside(): Promise<void> {
    try {
      const mark = markOf(this.db, this.#path, this.#options.kind);
      await writeFileDurablyAside(fileOf(this.#path, mark.number), textOf(mark, 'serving'));
      this.#written(mark.number);
    } catch (error) {
      this.#unable(error);
    }
  }

  #writeNow(state: Mark['state']): void {
    try {
      const mark = markOf(this.db, this.#path, this.#options.kind);
      writeFileDurably(fileOf(this.#path, mark.number), textOf(mark, state));
      this.#written(mark.number);
    } catch (error) {
      this.#unable(error);
    }
  }

  #written(number: number): void {
    if (this.#options.noted === undefined) step('qm.mark.noted');
    else this.#options.noted();
    this.#isUnable = false;
    removeBelow(this.#path, number - 1);
  }

  /** Nobody depends on a mark being there: without it an older copy that is put back may not be noticed. */
  #unable(error: unknown): void {
    if (!this.#isUnable)
      this.#options.log.warn('cannot write the mark beside the database', {
        path: this.#path,
        error: messageOf(error),
      });
    this.#isUnable = true;
  }
}

function textOf({ storeId, seq, made }: Noted, state: Mark['state']): string {
  return `${storeId}\n${seq}\n${made}\n${state}\n`;
}

/** When a file was made, '' where nobody says; a system that does not know may say the time of the last
 * change. */
export function madeOf(path: string): string {
  const { birthtimeNs } = statSync(path, { bigint: true });
  return birthtimeNs === 0n ? '' : String(birthtimeNs);
}

const lastChanged = (path: string) => String(statSync(path, { bigint: true }).ctimeNs);

const prefixOf = (path: string) => `${basename(path)}.last-`;
const fileOf = (path: string, number: number) => join(dirname(path), `${prefixOf(path)}${number}`);

/** Numbers of the marks there are; -1 for none. */
function numbersOf(path: string): number[] {
  return [-1, ...entriesOf(path).flatMap(({ number, isWhole }) => (isWhole ? number : []))];
}

/** Removes marks with lower numbers, and what a crash left of writing one. */
function removeBelow(path: string, number: number): void {
  for (const entry of entriesOf(path))
    if (entry.number < number) rmSync(join(dirname(path), entry.name), { force: true });
}

/** Marks, and what a crash left of writing one. */
function entriesOf(path: string): { name: string; number: number; isWhole: boolean }[] {
  const prefix = prefixOf(path);
  return namesIn(dirname(path)).flatMap(name => {
    const [, digits, rest] =
      (name.startsWith(prefix) && /^(\d{1,15})(\.\d+\.tmp)?$/.exec(name.slice(prefix.length))) || [];
    return digits === undefined ? [] : [{ name, number: Number(digits), isWhole: rest === undefined }];
  });
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    // The code that opens the database reports what is wrong there.
    return [];
  }
}
