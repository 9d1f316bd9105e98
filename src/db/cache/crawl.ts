/** What a crawl looks at in lcc.db: whose pages are followed, and what need not be sent again. */
import { openReadOnly, readingError, type Db } from '../sqlite/open.js';

/** A page that is known not to be had. */
export interface Absent {
  /** Status, or code of lcc-codes(7). */
  code: number;
  /** No link has it asked for before, seconds since 1970. */
  untilS: number;
}

export class CrawlReader {
  readonly #path: string;
  readonly #db: Db;
  readonly #there;
  readonly #held;
  readonly #queued;
  readonly #absent;
  readonly #heldQueries;
  readonly #queuedQueries;
  readonly #copies;

  /** @throws LccError as `openReadOnly` */
  constructor(path: string) {
    this.#path = path;
    const db = (this.#db = openReadOnly(path));
    const pluck = (sql: string) => db.prepare(sql).pluck();
    this.#there = pluck(
      `SELECT 1 FROM lccurl WHERE pid = ? AND curl = ? UNION ALL SELECT 1 FROM qdb WHERE pid = ? AND curl = ? AND op = 1
       UNION ALL SELECT 1 FROM known WHERE pid = ? AND curl = ? AND until > ? LIMIT 1`,
    );
    this.#held = pluck('SELECT 1 FROM lccurl WHERE pid = ? AND curl = ? LIMIT 1');
    this.#queued = pluck('SELECT 1 FROM qdb WHERE pid = ? AND curl = ? AND op = 1 LIMIT 1');
    this.#absent = db.prepare<[number, string, number], Absent>(
      'SELECT code, until AS untilS FROM known WHERE pid = ? AND curl = ? AND until > ?',
    );
    // `@` is the character after `?`.
    const queries = (table: string) =>
      pluck(`SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE pid = $pid AND curl >= $path || '?' AND curl < $path || '@'
        LIMIT $most)`);
    this.#heldQueries = queries('lccurl');
    this.#queuedQueries = queries('qdb');
    this.#copies = pluck(
      'SELECT count(*) FROM (SELECT 1 FROM lccurl WHERE pid = ? AND md5 = ? AND hops IS NOT NULL LIMIT ?)',
    );
  }

  /** Providers whose pages are followed, and their roots. */
  spiderProviders(): { pid: number; roots: string[] }[] {
    return this.#guard(() => {
      const rows = this.#db
        .prepare<[], { pid: number; root: string }>(
          'SELECT pid, root FROM pidb JOIN proots USING (pid) WHERE spider = 1 ORDER BY pid',
        )
        .all();
      const roots = new Map<number, string[]>();
      for (const { pid, root } of rows) roots.set(pid, [...(roots.get(pid) ?? []), root]);
      return [...roots].map(([pid, its]) => ({ pid, roots: its }));
    });
  }

  /** Whether a page is held, waits, or is known not to be had. */
  isThere(pid: number, curl: string, nowS: number): boolean {
    return this.#guard(() => this.#there.get(pid, curl, pid, curl, pid, curl, nowS) !== undefined);
  }

  /** Looks at one state of the database: a transaction for each look costs more than the look. @returns what `looks` does */
  atOnce<T>(looks: () => T): T {
    return this.#guard(() => this.#db.transaction(looks)());
  }

  /** Whether a page is held, waits, or is known not to be had, and why. */
  standingOf(pid: number, curl: string, nowS: number): 'held' | 'waiting' | Absent | undefined {
    return this.#guard(() => {
      if (this.#held.get(pid, curl) !== undefined) return 'held';
      if (this.#queued.get(pid, curl) !== undefined) return 'waiting';
      return this.#absent.get(pid, curl, nowS);
    });
  }

  /** Urls of one path with a query that are held or wait. @param path canonical, without query @param most counted of each */
  queriesOf(pid: number, path: string, most: number): number {
    return this.#guard(
      () =>
        Number(this.#heldQueries.get({ pid, path, most })) +
        Number(this.#queuedQueries.get({ pid, path, most })),
    );
  }

  /** Pages of a crawl with this content. @param most counted */
  copiesOf(pid: number, md5: string, most: number): number {
    return this.#guard(() => Number(this.#copies.get(pid, md5, most)));
  }

  close(): void {
    this.#db.close();
  }

  #guard<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw readingError(this.#path, error);
    }
  }
}
