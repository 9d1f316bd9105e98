/**
 * Providers that leave, and roots that are taken off:
 *
 *     stays ──leave──▶ leaving ──its time has come──▶ removed, in slices ──▶ left: the number stays taken
 *       ▲                 │
 *       ╰─────enable──────╯
 *
 *     root ──given up by a reset──▶ given ──its time has come──▶ content outside of others goes, in slices
 *       ▲                              │
 *       ╰────────proven again──────────╯
 *
 * Removed is what it holds, with tombstones, and what waits. All methods run inside the caller's transaction.
 */
import { STAYS } from '../moves/moving.js';
import { TABLES_OF_PROVIDER } from './removal.js';
import type { ContentStore } from '../cache/content.js';
import type { Tally } from '../cache/tally.js';
import { NO_FOLDER } from '../queue/folders.js';
import { EVERYTHING, type Reconciler } from '../queue/reconcile.js';
import type { QueueReader } from '../queue/sets.js';
import { pagesAfter } from '../sqlite/paging.js';
import { JointStore } from '../sqlite/sql-store.js';
import { GivenRoots } from './given-roots.js';
import { SiteLogins } from './site-logins.js';

/** Something that is due. */
interface Departure {
  pid: number;
  /** All of it, or what lies outside of its roots. */
  kind: 'all' | 'outside';
  /** How often roots had been taken off. */
  trimming: number;
  /** Time, in seconds, at which content of a given-up root goes. */
  dueS: number;
}

/** Where a row is in the order of its table: of content curl and mimetype, in the queue folder and name. */
interface Key {
  major: string | number;
  minor: string;
}

interface Row extends Key {
  /** rowid of lccurl, or of queued. */
  at: number;
  furl: string;
}

/** Rows looked at in a step: few of them need go. */
const LOOKED_AT = 4000;

interface LeftStores {
  content: ContentStore;
  queue: QueueReader;
  tally: Tally;
  reconciler: Reconciler;
}

export class DepartureStore extends JointStore<LeftStores> {
  // Ended, it has no password; what was on its way from a UNS may have come since.
  readonly #next = this.sql.row<[values: { nowS: number }], Omit<Departure, 'dueS'>>(
    `SELECT pid, iif(leaveat IS NULL, 'outside', 'all') AS kind, trimming FROM pidb
     WHERE ${STAYS} AND (leaveat IS NOT NULL OR trimming > 0) AND (leaveat IS NULL AND trimming > 0
       OR leaveat <= $nowS AND (origin = 'operator' OR password <> '' OR EXISTS(SELECT 1 FROM lccurl WHERE lccurl.pid = pidb.pid)
         OR EXISTS(SELECT 1 FROM queued WHERE queued.pid = pidb.pid)))
     ORDER BY pid LIMIT 1`,
  );
  readonly #given = new GivenRoots(this.db);
  readonly #due = this.sql.row<[nowS: number], Omit<Departure, 'dueS'>>(
    `SELECT pid, 'outside' AS kind, trimming FROM givenroot JOIN pidb USING (pid) WHERE at <= ? AND leaveat IS NULL AND ${STAYS}
     ORDER BY at LIMIT 1`,
  );
  readonly #held = this.sql.rows<[pid: number, after: Key, limit: number], Row>(
    `SELECT id AS at, furl, curl AS major, mimetype AS minor FROM lccurl WHERE pid = ? AND (curl, mimetype) > ($major, $minor)
     ORDER BY curl, mimetype LIMIT ?`,
  );
  readonly #waiting = this.sql.rows<[pid: number, after: Key, limit: number], Row>(
    `SELECT pos AS at, coalesce(furl, qfolder.folder || name) AS furl, folderid AS major, name AS minor
     FROM queued LEFT JOIN qfolder ON id = folderid WHERE queued.pid = ? AND (folderid, name) > ($major, $minor)
     ORDER BY folderid, name LIMIT ?`,
  );
  readonly #leaves = this.sql.value<[pid: number], number>(
    'SELECT leaveat IS NOT NULL FROM pidb WHERE pid = ?',
  );
  readonly #drop = this.sql.run<[at: number]>('DELETE FROM queued WHERE pos = ?');
  readonly #trimmed = this.sql.run<[pid: number, trimming: number]>(
    'UPDATE pidb SET trimming = 0 WHERE pid = ? AND trimming = ?',
  );
  readonly #removed = this.sql.changed<[pid: number]>(
    "DELETE FROM pidb WHERE pid = ? AND origin = 'operator'",
  );
  readonly #end = this.sql.run<[pid: number]>(
    `UPDATE pidb SET password = '', nurlerrs = 0, trimming = 0 WHERE pid = ?`,
  );
  readonly #forget = TABLES_OF_PROVIDER.map(table =>
    this.sql.run<[pid: number]>(`DELETE FROM ${table} WHERE pid = ?`),
  );

  /** The next that is due. */
  next(nowS: number): Departure | undefined {
    const departure = this.#next({ nowS }) ?? this.#due(nowS);
    return departure && { ...departure, dueS: nowS };
  }

  /** All that a provider has, a slice a step; what waits first, so that nothing that is being fetched comes
   * back. Yields how many urls. */
  removeAll(pid: number, rows: () => number, nowS: () => number): Generator<number, void> {
    return this.stores.reconciler.run(pid, EVERYTHING, rows, nowS);
  }

  /**
   * Removes urls at addresses that are not inside, a slice a step; content of a given-up root stays where
   * that keeps it. Yields the number of urls. @param insideOf asked at each step: a root may have come back
   */
  *removeOutside(
    { pid, dueS }: Departure,
    insideOf: () => (url: string) => boolean,
    rows: () => number,
    nowS: () => number,
  ): Generator<number, void> {
    const { content, queue, tally } = this.stores;
    const lookedAt = () => Math.min(LOOKED_AT, rows());
    const waiting = (after: Key, limit: number) => this.#waiting(pid, after, limit);
    for (const page of pagesAfter(waiting, { major: NO_FOLDER, minor: '' }, lookedAt)) {
      if (page.length === 0) break;
      const isInside = insideOf();
      const outside = page.filter(({ furl }) => !isInside(furl));
      if (outside.length > 0) queue.changed(pid);
      for (const { at } of outside) this.#drop(at);
      tally.waiting(pid, -outside.length);
      yield outside.length;
    }
    const held = (after: Key, limit: number) => this.#held(pid, after, limit);
    for (const page of pagesAfter(held, { major: '', minor: '' }, lookedAt)) {
      if (page.length === 0) break;
      const isInside = insideOf();
      // There are days to take such a root back.
      const isKept = this.#given.keeperOf(pid, dueS);
      const outside = page.filter(({ furl }) => !isInside(furl) && isKept?.(furl) !== true);
      for (const { at } of outside) {
        const row = content.row(at);
        if (row !== undefined) content.remove(pid, row, nowS());
      }
      yield outside.length;
    }
  }

  /** True if it has not been taken back by the operator. */
  isMeant({ pid, kind }: Departure): boolean {
    return kind === 'outside' || this.#leaves(pid) === 1;
  }

  /** Nothing is left to remove: of one that has left all is forgotten, of one that registered by itself all
   * but its number. */
  done({ pid, kind, trimming, dueS }: Departure): void {
    if (kind === 'outside') {
      this.#given.forget(pid, dueS);
      return this.#trimmed(pid, trimming);
    }
    for (const forget of this.#forget) forget(pid);
    new SiteLogins(this.db).set(pid, undefined);
    if (!this.#removed(pid)) this.#end(pid);
  }
}
