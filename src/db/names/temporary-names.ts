/** Names of files by the million, and what is known of each. They lie in a temporary file that SQLite removes
 * by itself; memory is that of its cache. */
import { openSqlite } from '../../lib/sqlite.js';
import { pagesAfter } from '../sqlite/paging.js';
import { SqlStore } from '../sqlite/sql-store.js';
import type { Name } from './names.js';

/** `held`: a row of lccurl points to it. `freed`: it waits to be deleted. */
type NameUse = 'held' | 'freed';

const FREED = 0;
const HELD = 1;
/** Names put in one transaction. */
const BATCH = 10_000;
const PAGE_ROWS = 1000;

export class TemporaryNames extends SqlStore {
  // A row wins: what it points to must not be taken for deleted.
  readonly #upsertName = this.sql.run<[id: number, gen: number, use: number]>(
    'INSERT INTO names VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET use = max(use, excluded.use)',
  );
  readonly #selectUse = this.sql.value<[id: number, gen: number], number>(
    'SELECT use FROM names WHERE id = ? AND gen = ?',
  );
  readonly #heldGens = this.sql.values<[id: number], number>(
    `SELECT gen FROM names WHERE id = ? AND use = ${HELD} ORDER BY gen`,
  );
  readonly #heldPage = this.sql.rows<[after: Name, limit: number], Name>(
    `SELECT id, gen FROM names WHERE (id, gen) > ($id, $gen) AND use = ${HELD} ORDER BY id, gen LIMIT ?`,
  );
  /** Not yet written, by name. */
  #pending = new Map<string, [id: number, gen: number, use: number]>();

  constructor() {
    const db = openSqlite('');
    db.exec('CREATE TABLE names(id INTEGER, gen INTEGER, use INTEGER, PRIMARY KEY (id, gen)) WITHOUT ROWID');
    super(db);
  }

  add({ id, gen }: Name, use: NameUse): void {
    const key = `${id}.${gen}`;
    const before = this.#pending.get(key)?.[2] ?? FREED;
    this.#pending.set(key, [id, gen, Math.max(before, use === 'held' ? HELD : FREED)]);
    if (this.#pending.size >= BATCH) this.#flush();
  }

  useOf({ id, gen }: Name): NameUse | undefined {
    const pending = this.#pending.get(`${id}.${gen}`)?.[2];
    const use = pending === HELD ? HELD : (this.#selectUse(id, gen) ?? pending);
    return use === undefined ? undefined : use === HELD ? 'held' : 'freed';
  }

  /** Generations of the id that rows hold. */
  heldGenerations(id: number): number[] {
    this.#flush();
    return this.#heldGens(id);
  }

  /** All names that rows hold, by id. */
  *held(): Generator<Name, void> {
    this.#flush();
    for (const rows of pagesAfter(this.#heldPage, { id: -1, gen: -1 }, () => PAGE_ROWS)) yield* rows;
  }

  close(): void {
    this.db.close();
  }

  #flush(): void {
    if (this.#pending.size === 0) return;
    const pending = this.#pending;
    this.#pending = new Map();
    this.db.transaction(() => {
      for (const one of pending.values()) this.#upsertName(...one);
    })();
  }
}
