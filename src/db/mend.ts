/** What `lccfsck --repair` changes in lcc.db. The caller has the Queue Manager's lock. */
import type { ContentRow, WrongCount } from './audit.js';
import { Counter, raiseCounters } from './counters.js';
import type { DamagedRow } from './damage.js';
import type { Db } from './open.js';
import { QueueInserter } from './queue/insert.js';
import { adoptStrayRows, rebuildSets } from './queue/ranges.js';
import type { QueueStore } from './queue/store.js';

/** Time slot of what may be fetched as soon as possible. */
const NOW_SLOT = -1;

export class Mender {
  readonly #db: Db;
  readonly #store: QueueStore;
  readonly #insert: QueueInserter;
  readonly #psetids: Counter;
  readonly #places: Counter;
  readonly #nowS: () => number;
  readonly #waiting;
  readonly #known;
  readonly #queued;

  constructor(db: Db, store: QueueStore, nowS: () => number) {
    this.#db = db;
    this.#store = store;
    this.#nowS = nowS;
    this.#insert = new QueueInserter(db);
    this.#psetids = new Counter(db, 'psetid');
    this.#places = new Counter(db, 'pos');
    this.#waiting = db.prepare('SELECT 1 FROM qdb WHERE pid = ? AND curl = ? AND mimetype = ?');
    this.#known = db.prepare('SELECT 1 FROM pidb WHERE pid = ?');
    this.#queued = db.prepare('UPDATE pidb SET nurlproc = nurlproc + ? WHERE pid = ?');
  }

  /**
   * Rows whose content cannot be trusted go, each with a tombstone, and their urls are queued again, in a set of its own
   * for each provider. What else was said of them stays said; md5 and length are left to what will arrive.
   */
  fetchAgain(rows: readonly { row: ContentRow; file: 'freed' | 'kept' }[]): void {
    if (rows.length === 0) return;
    this.#store.transaction(() => {
      for (const { row, file } of rows) this.#store.content.remove(row.pid, row, this.#nowS(), file);
      for (const pid of new Set(rows.map(({ row }) => row.pid)))
        this.#queue(
          pid,
          rows.map(({ row }) => row).filter(row => row.pid === pid),
        );
    });
  }

  /** The files of a machine's store are gone: nothing is left to delete, and whichever store comes next is its store. */
  forgetStore(machineid: string): void {
    this.#store.transaction(() => {
      for (const table of ['freed', 'store'])
        this.#db.prepare(`DELETE FROM ${table} WHERE machineid = ?`).run(machineid);
    });
  }

  /** A file that a row points to is not to be deleted. */
  keepFile(fid: number): void {
    this.#store.transaction(() => this.#store.freed.remove(fid));
  }

  /** A row of lccurl that does not agree with its sum goes; its provider is asked for a full set. */
  dropContent(row: DamagedRow): void {
    this.#store.transaction(() => this.#store.content.discard(row.id));
  }

  /** The same for a row of the queue. */
  dropWaiting(row: DamagedRow): void {
    this.#store.transaction(() => {
      const pid = this.#store.queue.ownerOf(row.id) ?? row.pid;
      this.#store.queue.drop({ pos: row.id, pid });
      this.#store.providers.wantFullSet('cache crash', pid);
    });
  }

  /** The sets of the queue, told anew from its urls. */
  rebuildSets(): void {
    this.#store.transaction(() => {
      adoptStrayRows(this.#db);
      rebuildSets(this.#db);
    });
  }

  setCounts(wrong: readonly WrongCount[]): void {
    this.#store.transaction(() => {
      for (const { pid, column, should } of wrong)
        this.#db.prepare(`UPDATE pidb SET ${column} = ? WHERE pid = ?`).run(should, pid);
    });
  }

  /**
   * The change sequence: what is beyond the last number counts as given out; what is said to be forgotten is; and a
   * deletion whose number a row has too takes the next one, so that everybody reads of it again.
   */
  mendNumbers(): void {
    this.#store.transaction(() => {
      raiseCounters(this.#db);
      this.#db.exec("DELETE FROM tombstone WHERE seq <= (SELECT value FROM counter WHERE name = 'purged')");
      const doubled = this.#db
        .prepare<[], number>('SELECT seq FROM tombstone JOIN lccurl USING (seq)')
        .pluck();
      const renumber = this.#db.prepare<[number, number]>('UPDATE tombstone SET seq = ? WHERE seq = ?');
      const seqs = new Counter(this.#db, 'seq');
      for (const seq of doubled.all()) renumber.run(seqs.take(), seq);
    });
  }

  #queue(pid: number, rows: readonly ContentRow[]): void {
    const missing = rows.filter(row => this.#waiting.get(pid, row.curl, row.mimetype) === undefined);
    if (missing.length === 0 || this.#known.get(pid) === undefined) return;
    const psetid = this.#psetids.take();
    const firstpos = this.#places.take(missing.length);
    missing.forEach(({ curl, mimetype, subtype, burl, givenfurl: furl, mtime }, index) => {
      const said = { subtype, burl, furl, md5: null, len: null, mtime };
      this.#insert.add(firstpos + index, pid, psetid, { curl, mimetype, ...said, tod: null, flags: 0 });
    });
    this.#insert.flush();
    this.#queued.run(missing.length, pid);
    this.#store.queue.addSet({
      psetid,
      slot: NOW_SLOT,
      pid,
      firstpos,
      lastpos: firstpos + missing.length - 1,
    });
  }
}
