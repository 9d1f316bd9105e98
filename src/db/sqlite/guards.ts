/**
 * Read transactions in turn, by which SQLite keeps in the log of a database what follows them:
 *
 *     older ──▶ newer ──▶ what is committed
 *
 * Nothing after the older is moved into the database by anybody; and while one of them stands in the log it
 * does not begin again. Of a log that is in the database as a whole `move` lets the older go out: a
 * transaction that begins then reads the database alone.
 */
import { openSqlite, type Db } from '../../lib/sqlite.js';

const BUSY_MS = 10_000;

export class Guards {
  #older: Db;
  #newer: Db;
  /** A connection without a transaction: only such a one can ask, and make checkpoints. */
  readonly #looker: Db;
  readonly #state;

  private constructor(older: Db, newer: Db, looker: Db) {
    [this.#older, this.#newer, this.#looker] = [older, newer, looker];
    this.#state = looker
      .prepare<[], [busy: number, frames: number, moved: number]>('PRAGMA wal_checkpoint(NOOP)')
      .raw();
    begin(older);
    begin(newer);
  }

  /** Both stand where the log ends now. @returns undefined when the database is just being made, and has no
   * log yet @throws what SQLite throws */
  static open(path: string): Guards | undefined {
    const opened: Db[] = [];
    const open = () => {
      const db = openSqlite(path, { fileMustExist: true, timeout: BUSY_MS });
      opened.push(db);
      return db;
    };
    let guards: Guards | undefined;
    try {
      const looker = open();
      looker.pragma('synchronous = FULL');
      if (looker.pragma('journal_mode', { simple: true }) === 'wal')
        guards = new Guards(open(), open(), looker);
      return guards;
    } finally {
      if (guards === undefined) for (const db of opened) db.close();
    }
  }

  /** Frames of the log that count, and those of them that are in the database. */
  state(): { frames: number; moved: number } {
    const [, frames, moved] = this.#state.get() ?? [0, 0, 0];
    return { frames: Math.max(0, frames), moved: Math.max(0, moved) };
  }

  /** The older goes to the end of the log, and is the newer then. */
  move(): void {
    this.#older.exec('COMMIT');
    begin(this.#older);
    this.swap();
  }

  /** The newer is the one that goes next. */
  swap(): void {
    [this.#older, this.#newer] = [this.#newer, this.#older];
  }

  /** Moves what the guards let of the log into the database; others go on meanwhile. */
  checkpoint(): void {
    this.#looker.pragma('wal_checkpoint(PASSIVE)');
  }

  /** The last to close a database takes its log away. */
  close(): void {
    for (const db of [this.#older, this.#newer, this.#looker]) db.close();
  }
}

function begin(db: Db): void {
  db.exec('BEGIN');
  db.pragma('schema_version');
}
