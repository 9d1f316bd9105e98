/**
 * The names of a store: which file ids may be in use, which are free, and every id's generation. One SQLite
 * file in the store's own folder, written by its Bot Manager alone.
 *
 * A name is an id and a generation. The promise is that no name ever means two contents, across kill -9 and
 * power cuts at any instant; an id may be lost, never doubled:
 *
 *     (fresh) ──reserve──▶ taken ──note──▶ gone ──free──▶ free, next generation ──reserve──▶ taken …
 *                            ╰──────────release (never held content)──▶ free, same generation
 *
 * - `reserve` commits before any of its names is handed out. A crash loses what was reserved and not yet
 *   used.
 * - `note` commits before a deletion is acknowledged, and does nothing for a name that is not the id's
 *   current one: a deletion sent again after its id was given out again must not touch the new holder.
 * - An id of generation 0 in use has no row; the file grows with deletions, not with content.
 *
 * SQLite rather than a journal of our own: no replay at start, flat memory, and torn writes are its job.
 * Batches pay for the commits (1000 names 4 ms, once per 1000 fetches).
 */
import { dirname } from 'node:path';
import { errnoOf, LccError, messageOf } from '../../lib/errors.js';
import { holderOf } from '../../lib/lock.js';
import { isOnReadOnlyDisk, openCopy } from '../../lib/sqlite-read.js';
import { hindranceOf, openSqlite, type Db } from '../../lib/sqlite.js';
import { step } from '../../lib/steps.js';
import { pagesByNumber } from '../sqlite/paging.js';
import { MARK_SCHEMA, Marks, noteMark, type Marked, type MarksOptions } from '../sqlite/marks.js';
import { wentBack } from '../sqlite/restored.js';
import { upgrade, versionOf } from '../sqlite/schema-version.js';
import { Sql, SqlStore } from '../sqlite/sql-store.js';
import { beyondIdsIn, startsBefore } from './ids-in-use.js';

export interface Name {
  id: number;
  gen: number;
}

/** `gone`: its file is to go when its grace is over. `free`: the generation is the one given out next. */
type NameState = 'taken' | 'gone' | 'free';

/** A name as noted. */
export interface NameRow extends Name {
  state: NameState;
}

interface Row extends Name {
  state: number;
}

const TAKEN = 0;
const GONE = 1;
const FREE = 2;
const STATES: readonly NameState[] = ['taken', 'gone', 'free'];

/** `user_version` of one that was found damaged. */
const CONDEMNED = -1;
const SCHEMA = `
CREATE TABLE next(id INTEGER NOT NULL CHECK (id >= 0)) STRICT;  -- one row: ids from here on were never given out
CREATE TABLE names(
  id INTEGER PRIMARY KEY CHECK (id >= 0),
  gen INTEGER NOT NULL CHECK (gen >= 0),        -- taken, gone: the id's current one; free: the one to be given out next
  -- 0 taken, 1 gone (its file stays for the grace period), 2 free
  state INTEGER NOT NULL CHECK (state IN (0, 1, 2)),
  at INTEGER NOT NULL DEFAULT 0                 -- when it went, on the store's own clock (milliseconds)
) STRICT;
CREATE INDEX names_free ON names(id) WHERE state = 2;
CREATE INDEX names_gone ON names(at, id) WHERE state = 1;
`;
// start: how often a Bot Manager has opened it, by which a Queue Manager knows an older copy of the whole
// store.
const STEPS = [SCHEMA, `${MARK_SCHEMA} INSERT INTO counter VALUES ('start', 0);`];

/** What to do about one that is refused. */
const REMEDY =
  'put the right one back, or stop lccd-bm and move it out of the store, with its -wal and -shm: names then begin far beyond';

const NAMES: Marked = {
  what: 'id',
  servedBy: 'lccd-bm',
  lastOf: db => new Sql(db).number('SELECT id FROM next')(),
  remedy: REMEDY,
};

export class NamesDb extends SqlStore {
  readonly #pickFree = this.sql.rows<[limit: number], Name>(
    'SELECT id, gen FROM names WHERE state = 2 ORDER BY id LIMIT ?',
  );
  readonly #markTaken = this.sql.run<[id: number]>('UPDATE names SET state = 0 WHERE id = ?');
  readonly #readNext = this.sql.number('SELECT id FROM next');
  readonly #writeNext = this.sql.run<[id: number]>('UPDATE next SET id = ?');
  readonly #write = this.sql.run<[id: number, gen: number, state: number, atMs: number]>(
    'INSERT OR REPLACE INTO names(id, gen, state, at) VALUES (?, ?, ?, ?)',
  );
  readonly #pickDue = this.sql.rows<[atMs: number, limit: number], Name>(
    'SELECT id, gen FROM names WHERE state = 1 AND at <= ? ORDER BY at, id LIMIT ?',
  );
  readonly #page = this.sql.rows<[afterId: number, limit: number], Row>(
    'SELECT id, gen, state FROM names WHERE id > ? ORDER BY id LIMIT ?',
  );
  readonly #raiseStart = this.sql.run("UPDATE counter SET value = value + 1 WHERE name = 'start'");
  readonly #starts = this.sql.number("SELECT value FROM counter WHERE name = 'start'");
  /** Where ids begin, of names that were made just now. */
  readonly madeFrom: number | undefined;
  #freeCount = this.#count(FREE);
  #goneCount = this.#count(GONE);

  /**
   * Opens the names, or makes them: from 0 in an empty store, else beyond all that were given out there. No
   * other process can while this one is open.
   * @param isLook nothing will be written: those on a read-only disk will do
   * @throws LccError `try.later` when another process has it open, `data.malformed` when it is damaged,
   *   `config` when a newer LCC wrote it
   */
  constructor(path: string, isLook = false) {
    let first: number | undefined;
    super(opened(path, isLook, firstId => (first = firstId)));
    this.madeFrom = first;
  }

  get freeCount(): number {
    return this.#freeCount;
  }
  get goneCount(): number {
    return this.#goneCount;
  }
  /** Ids from here on were never given out. */
  get nextId(): number {
    return this.#readNext();
  }
  /** Where the store's own clock stood when a name last went: time passes on it only while a Bot Manager
   * runs. */
  get lastAtMs(): number {
    return this.sql.number('SELECT max(at) FROM names WHERE state = 1')();
  }

  /** `count` names to hand out, free ones first, durably noted as taken. */
  reserve(count: number): Name[] {
    const names = this.#inTransaction(() => {
      const free = this.#pickFree(count);
      for (const { id } of free) this.#markTaken(id);
      const fresh = count - free.length;
      if (fresh > 0) {
        const next = this.nextId;
        for (let i = 0; i < fresh; i++) free.push({ id: next + i, gen: 0 });
        this.#writeNext(next + fresh);
      }
      this.#freeCount -= count - fresh;
      return free;
    });
    step('bm.names.reserved');
    return names;
  }

  /** Puts back reserved names that never held content: free at the same generation. */
  release(names: readonly Name[]): void {
    if (names.length === 0) return;
    this.#inTransaction(() => {
      for (const name of names) this.#mustBe('taken', name);
      for (const { id, gen } of names) this.#write(id, gen, FREE, 0);
    });
    this.#freeCount += names.length;
    step('bm.names.released');
  }

  /** Notes durably that names' files are to go, each `atMs` on the store's clock. Those not in use are passed
   * over. */
  note(deletions: readonly { name: Name; atMs: number }[]): void {
    const noted = this.#inTransaction(() => {
      const next = this.nextId;
      let count = 0;
      for (const { name, atMs } of deletions) {
        if (!this.#isTaken(name, next)) continue;
        this.#write(name.id, name.gen, GONE, atMs);
        count++;
      }
      return count;
    });
    this.#goneCount += noted;
    step('bm.names.noted');
  }

  /** Those of the names that are in use: what `note` would note. Reads only. */
  taken<N extends Name>(names: readonly N[]): N[] {
    return this.#inTransaction(() => {
      const next = this.nextId;
      return names.filter(name => this.#isTaken(name, next));
    });
  }

  /** Names that went at `atMs` or before, the longest gone first. */
  due(atMs: number, limit: number): Name[] {
    return this.#inTransaction(() => this.#pickDue(atMs, limit));
  }

  /** The files of these gone names have been removed: their ids are free at the next generation. */
  free(names: readonly Name[]): void {
    if (names.length === 0) return;
    this.#inTransaction(() => {
      for (const name of names) this.#mustBe('gone', name);
      for (const { id, gen } of names) this.#write(id, gen + 1, FREE, 0);
    });
    this.#goneCount -= names.length;
    this.#freeCount += names.length;
    step('bm.names.freed');
  }

  /** The files of these gone names could not be removed: they are due again as if they had gone `atMs`. */
  postpone(names: readonly Name[], atMs: number): void {
    if (names.length === 0) return;
    this.#inTransaction(() => {
      for (const name of names) this.#mustBe('gone', name);
      for (const { id, gen } of names) this.#write(id, gen, GONE, atMs);
    });
  }

  /** Every row, a page at a time. */
  *rows(pageRows: number): Generator<NameRow, void> {
    const pages = pagesByNumber(
      after => this.#page(after, pageRows),
      row => row.id,
      -1,
    );
    for (const rows of pages) for (const row of rows) yield nameRow(row);
  }

  /** The row of an id; undefined when it has none: in use at generation 0, or never given out. */
  readonly row = this.sql.row<[id: number], Row, NameRow>(
    'SELECT id, gen, state FROM names WHERE id = ?',
    nameRow,
  );

  /** Repairs: these names are in use, whatever was noted of them; ids given out from here on are higher. */
  claim(names: readonly Name[]): void {
    if (names.length === 0) return;
    this.#inTransaction(() => {
      const beyond = names.reduce((most, { id }) => Math.max(most, id), 0) + 1;
      if (beyond > this.nextId) this.#writeNext(beyond);
      for (const { id, gen } of names) this.#write(id, gen, TAKEN, 0);
    });
    this.#freeCount = this.#count(FREE);
    this.#goneCount = this.#count(GONE);
  }

  /** A Bot Manager begins. @returns how often one has */
  noteStart(): number {
    return this.#inTransaction(() => {
      this.#raiseStart();
      return this.#starts();
    });
  }

  /** The fault of a database that is not the one served last, as it was then or later; undefined: nothing
   * that could be seen. */
  wentBack(): string | undefined {
    return wentBack(this.db, this.db.name, NAMES);
  }

  /** The marks beside it, for the Bot Manager. */
  newMarks({ failed, ...options }: Omit<MarksOptions, 'kind'>): Marks {
    const explain = (error: unknown) => failed(explained(this.db.name, error));
    return new Marks(this.db, this.db.name, { ...options, kind: NAMES, failed: explain });
  }

  close(): void {
    this.db.close();
  }

  /** 2 = FULL: what a commit promises. */
  get synchronous(): unknown {
    return this.db.pragma('synchronous', { simple: true });
  }

  #isTaken({ id, gen }: Name, next: number): boolean {
    const current = this.row(id) ?? { gen: 0, state: 'taken' };
    return id < next && current.gen === gen && current.state === 'taken';
  }

  /** @throws Error for a transition that is not drawn above */
  #mustBe(state: NameState, { id, gen }: Name): void {
    const row = this.row(id) ?? { gen: 0, state: 'taken' };
    if (row.gen !== gen || row.state !== state)
      throw new Error(`name ${id}.${gen} is not ${state}: it is ${row.state} at generation ${row.gen}`);
  }

  #count(state: number): number {
    return this.sql.number(`SELECT count(*) FROM names WHERE state = ${state}`)();
  }

  #inTransaction<T>(work: () => T): T {
    try {
      return this.db.transaction(work).immediate();
    } catch (error) {
      const reason = explained(this.db.name, error);
      // Nothing in it can be trusted from here on: the next process to open it finds it damaged, and refuses
      // it.
      if (reason instanceof LccError && reason.code === 'data.malformed') {
        this.db.pragma(`user_version = ${CONDEMNED}`);
      }
      throw reason;
    }
  }
}

function nameRow({ id, gen, state }: Row): NameRow {
  return { id, gen, state: STATES[state] ?? 'taken' };
}

function opened(path: string, isLook: boolean, made: (firstId: number) => void): Db {
  let db: Db | undefined;
  try {
    if (isLook && isOnReadOnlyDisk(path)) {
      db = openCopy(path);
      if (versionOf(db, path, STEPS) === 0) throw new LccError('data.malformed', `${path}: empty`);
    } else {
      db = openSqlite(path, { timeout: 1000 });
      makeExclusive(db, path, made);
    }
    requireSound(db, path);
    return db;
  } catch (error) {
    db?.close();
    throw explained(path, error);
  }
}

function makeExclusive(db: Db, path: string, made: (firstId: number) => void): void {
  // Two Bot Managers on one store would hand out the same names: the lock is held until this process ends.
  db.pragma('locking_mode = EXCLUSIVE');
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  let isNew = false;
  upgrade(db, path, STEPS, () => {
    const firstId = beyondIdsIn(dirname(path));
    db.prepare('INSERT INTO next VALUES (?)').run(firstId);
    db.prepare("UPDATE counter SET value = ? WHERE name = 'start'").run(startsBefore(firstId));
    // The newest mark would be of lost names. Killed before the commit, names are made once more, beyond it.
    noteMark(db, path, NAMES);
    step('bm.names.marked');
    made(firstId);
    isNew = true;
  });
  if (isNew) step('bm.names.made');
}

function requireSound(db: Db, path: string): void {
  // Ids that are known to have been given out are never given out as fresh ones.
  const given = 'SELECT coalesce(max(id), -1) < (SELECT id FROM next) FROM names';
  if (db.pragma('quick_check(1)', { simple: true }) !== 'ok' || db.prepare(given).pluck().get() !== 1)
    throw new LccError('data.malformed', `${path}: damaged; ${REMEDY}`);
}

function explained(path: string, error: unknown): unknown {
  if (error instanceof LccError) return error;
  const code = errnoOf(error) ?? '';
  const what = `${path}: ${messageOf(error)}`;
  if (code.startsWith('SQLITE_BUSY'))
    return new LccError('try.later', `${path}: in use by ${holderOf(path)}; stop that first`, {
      cause: error,
    });
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code))
    return new LccError('data.malformed', `${path}: damaged (${messageOf(error)}); ${REMEDY}`, {
      cause: error,
    });
  if (code === 'SQLITE_FULL') return new LccError('io.full', what, { cause: error });
  if (code.startsWith('SQLITE_IOERR')) return new LccError('io', what, { cause: error });
  return hindranceOf(path, error) ?? error;
}
