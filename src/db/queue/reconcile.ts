/**
 * The end of a full set: whatever the LCC holds or has queued for the provider and the set did not name is removed, a
 * page of keys a transaction. Rows carry the last set that named them, so memory stays that of one page however large
 * the set was. It can be cut off anywhere and begun again.
 */
import type { ContentStore } from '../cache/content.js';
import type { Tally } from '../cache/tally.js';
import type { Db } from '../open.js';
import type { QueueReader } from './sets.js';

interface Key {
  curl: string;
  mimetype: string;
}

const START: Key = { curl: '', mimetype: '' };

export class Reconciler {
  readonly #queue: QueueReader;
  readonly #content: ContentStore;
  readonly #tally: Tally;
  readonly #page;
  readonly #drop;

  constructor(db: Db, stores: { queue: QueueReader; content: ContentStore; tally: Tally }) {
    this.#queue = stores.queue;
    this.#content = stores.content;
    this.#tally = stores.tally;
    this.#page = db.prepare<
      [number, string, string, number],
      Key & { pos: number; named: number; op: number }
    >(
      `SELECT pos, curl, mimetype, op, coalesce(named, psetid) AS named FROM qdb
       WHERE pid = ? AND (curl, mimetype) > (?, ?) ORDER BY curl, mimetype LIMIT ?`,
    );
    this.#drop = db.prepare<[number]>('DELETE FROM qdb WHERE pos = ?');
  }

  /**
   * Removes what was last named before set `psetid`, queue first, so that nothing that is being fetched comes back.
   * Yields once per page, outside of which the caller commits; a yielded number is how many were removed.
   */
  *run(pid: number, psetid: number, pageRows: number, nowS: () => number): Generator<number, void> {
    let after = START;
    for (;;) {
      const rows = this.#page.all(pid, after.curl, after.mimetype, pageRows);
      const unnamed = rows.filter(row => row.named < psetid);
      this.#queue.changed(pid);
      for (const row of unnamed) this.#drop.run(row.pos);
      this.#tally.waiting(pid, -unnamed.length);
      // A row that waited for nothing was counted when its delete came.
      yield unnamed.filter(row => row.op === 1 && !this.#holds(pid, row)).length;
      after = rows.at(-1) ?? START;
      if (rows.length < pageRows) break;
    }
    after = START;
    for (;;) {
      const { rows, last } = this.#content.page(pid, after, pageRows);
      const unnamed = rows.filter(row => row.psetid < psetid);
      for (const row of unnamed) this.#content.remove(pid, row, nowS());
      yield unnamed.length;
      if (last === undefined) break;
      after = last;
    }
  }

  #holds(pid: number, key: Key): boolean {
    return this.#content.find(pid, key.curl, key.mimetype) !== undefined;
  }
}
