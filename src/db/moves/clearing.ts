/**
 * All rows of a provider that another shard has go, and no deletion is reported: tombstones first, for
 * one without the rows that came after it would report urls that are there. Content that goes leaves its
 * path and frees its file. Runs inside the caller's transactions, a slice in each; cut off anywhere it
 * begins again and finds less.
 */
import type { ContentStore } from '../cache/content.js';
import { SiteLogins } from '../providers/site-logins.js';
import type { QueueReader } from '../queue/sets.js';
import { JointStore } from '../sqlite/sql-store.js';
import { CARRIED } from './carried.js';

/** Tombstones are not found by their provider: this number of all is looked at in a slice. */
const LOOKED_AT = 4000;
/** Tables that are cleared in ways of their own. */
const APART = new Set(['tombstone', 'visit', 'lccurl', 'pidb']);

export class ClearingStore extends JointStore<{ content: ContentStore; queue: QueueReader }> {
  readonly #logins = new SiteLogins(this.db);
  readonly #seqEnd = this.sql.value<[after: number], number>(
    `SELECT max(seq) FROM (SELECT seq FROM tombstone WHERE seq > ? ORDER BY seq LIMIT ${LOOKED_AT})`,
  );
  readonly #forgetDeletions = this.sql.changes<[pid: number, after: number, end: number]>(
    'DELETE FROM tombstone WHERE pid = ? AND seq > ? AND seq <= ?',
  );
  readonly #held = this.sql.values<[pid: number, limit: number], number>(
    'SELECT id FROM lccurl WHERE pid = ? LIMIT ?',
  );
  // Rows of a view lie elsewhere.
  readonly #tables = [
    ...CARRIED.map(({ table }) => (table === 'qdb' ? 'queued' : table)).reverse(),
    'qfolder',
  ]
    .filter(table => !APART.has(table))
    .map(table => this.#sliceOf(table));
  readonly #end = ['pidb', 'moving'].map(table =>
    this.sql.run<[pid: number]>(`DELETE FROM ${table} WHERE pid = ?`),
  );

  /** Removes some rows of a table, @returns how many. */
  #sliceOf(table: string) {
    const columns = this.db.pragma(`table_info(${table})`) as { name: string; pk: number }[];
    const names = columns.flatMap(({ name, pk }) => (pk > 0 ? name : [])).join(', ');
    const ofIt = table === 'helddelete' ? 'psetid IN (SELECT psetid FROM held WHERE pid = ?)' : 'pid = ?';
    return this.sql.changes<[pid: number, limit: number]>(
      `DELETE FROM ${table} WHERE (${names}) IN (SELECT ${names} FROM ${table} WHERE ${ofIt} LIMIT ?)`,
    );
  }

  /** Yields how many rows went, a slice each. @param rows of a slice */
  *slices(pid: number, rows: () => number, nowS: () => number): Generator<number, void> {
    for (let after = 0, end = this.#seqEnd(0); end !== undefined; end = this.#seqEnd(end)) {
      yield this.#forgetDeletions(pid, after, end);
      after = end;
    }
    this.stores.queue.changed(pid);
    for (const drop of this.#tables)
      for (let gone = drop(pid, rows()); gone > 0; gone = drop(pid, rows())) yield gone;
    for (let ids = this.#held(pid, rows()); ids.length > 0; ids = this.#held(pid, rows())) {
      for (const id of ids) {
        const row = this.stores.content.row(id);
        if (row !== undefined) this.stores.content.cede(pid, row, nowS());
      }
      yield ids.length;
    }
  }

  /** The provider itself goes, when nothing else is left. */
  end(pid: number): void {
    this.#logins.set(pid, undefined);
    for (const end of this.#end) end(pid);
  }
}
