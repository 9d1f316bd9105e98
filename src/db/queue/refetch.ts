/**
 * Content that cannot be trusted any more: its row goes, with a tombstone, and its url is queued again, in a
 * set of its own for each provider. What else was said of it stays said; md5 and length are left to what will
 * arrive.
 */
import type { ContentStore, Held } from '../cache/content.js';
import type { Tally } from '../cache/tally.js';
import { classOf, type SetClass } from '../../wire/origin.js';
import { JointStore } from '../sqlite/sql-store.js';
import { FurtherSets } from './further-sets.js';
import { QueueInserter } from './insert.js';
import { FLAG_OF_CLASS, typeAsked } from './row.js';
import type { QueueReader, WaitingSet } from './sets.js';

/** A row of lccurl and its provider. */
export interface ContentRow extends Held {
  pid: number;
}

/** `file`: whether it goes, too; `kept` where it may be another's. */
export interface Spoilt {
  row: ContentRow;
  file: 'freed' | 'kept';
}

export class Refetcher extends JointStore<{ content: ContentStore; queue: QueueReader; tally: Tally }> {
  readonly #insert = new QueueInserter(this.db);
  readonly #sets = new FurtherSets(this.db, { ...this.stores, insert: this.#insert });
  readonly #updateNamed = this.sql.run<[psetid: number, pos: number]>(
    'UPDATE queued SET named = ? WHERE pos = ?',
  );

  /** Inside a transaction. @returns the sets made */
  again(spoilt: readonly Spoilt[], nowS: number): WaitingSet[] {
    for (const { row, file } of spoilt) {
      this.stores.content.remove(row.pid, row, nowS, file);
      this.stores.queue.changed(row.pid);
    }
    const pids = [...new Set(spoilt.map(({ row }) => row.pid))];
    return pids.flatMap(pid => {
      const rows = spoilt.map(({ row }) => row).filter(row => row.pid === pid);
      // A set is of one class.
      const [owners, crawled] = [
        rows.filter(({ hops }) => hops === null),
        rows.filter(({ hops }) => hops !== null),
      ];
      return [this.#enqueue(pid, owners, 0), this.#enqueue(pid, crawled, classOf('links'))].flatMap(
        set => set ?? [],
      );
    });
  }

  /** Urls of an audit once more; what is held of them stays. Inside a transaction. @returns the sets made */
  auditAgain(rows: readonly ContentRow[]): WaitingSet[] {
    const pids = [...new Set(rows.map(({ pid }) => pid))];
    return pids.flatMap(pid => {
      this.stores.queue.changed(pid);
      const mine = rows.filter(row => row.pid === pid && row.hops === null);
      return this.#enqueue(pid, mine, classOf('audit')) ?? [];
    });
  }

  /** Forgets what is not yet written: after a rollback. */
  reset(): void {
    this.#insert.reset();
  }

  #enqueue(pid: number, rows: readonly ContentRow[], setClass: SetClass): WaitingSet | undefined {
    const missing = rows.filter(
      row => this.stores.queue.waiting(pid, row.curl, typeAsked(row)) === undefined,
    );
    if (this.stores.tally.use(pid) === undefined) return undefined;
    const flags = FLAG_OF_CLASS[setClass];
    const urls = missing.map(row => {
      const { curl, subtype, burl, givenfurl: furl, mtime, hops } = row;
      const said = { subtype, burl, furl, md5: null, len: null, mtime };
      return { curl, mimetype: typeAsked(row), ...said, tod: null, flags, hops };
    });
    const set = this.#sets.make(pid, urls, setClass);
    // A full set that is being taken removes what it does not name, this too.
    if (set !== undefined)
      missing.forEach((row, index) => this.#updateNamed(row.psetid, set.firstpos + index));
    return set;
  }
}
