/** Looks of a crawl at lcc.db: whose pages are followed, and what need not be sent again. */
import { LONGEST_S } from '../queue/absent-pages.js';
import { nameOf, placesOf } from '../queue/folders.js';
import { LccReader } from '../sqlite/lcc-reader.js';

/** A page that is known not to be had. */
interface Absent {
  /** Status, or code of lcc-codes(7). */
  code: number;
  /** No link has it asked for before, seconds since 1970. */
  untilS: number;
}

// `@` is the character after `?`.
const withQuery = (column: string, path: string) =>
  `${column} >= ${path} || '?' AND ${column} < ${path} || '@'`;
const HELD_QUERIES = `SELECT 1 FROM lccurl WHERE pid = $pid AND ${withQuery('curl', '$path')} LIMIT $most`;
const QUEUED_QUERIES = `SELECT 1 FROM qfolder AS f CROSS JOIN queued ON queued.pid = f.pid AND folderid = f.id
  WHERE f.pid = $pid AND folder = url_folder($path) AND ${withQuery('name', nameOf('$path'))} LIMIT $most`;

/** Further ahead than anything is noted for, a time was noted while the clock was ahead. */
const IS_ABSENT = `pid = $pid AND curl = $curl AND until > $nowS AND until <= $nowS + ${LONGEST_S}`;

export class CrawlReader extends LccReader {
  readonly #held = this.sql.has<[pid: number, curl: string]>(
    'SELECT 1 FROM lccurl WHERE pid = ? AND curl = ? LIMIT 1',
  );
  readonly #queued = this.sql.has<[pid: number, curl: string]>(
    `SELECT 1 FROM queued WHERE pos IN ${placesOf()} AND op = 1 LIMIT 1`,
  );
  readonly #absent = this.sql.row<[values: { pid: number; curl: string; nowS: number }], Absent>(
    `SELECT code, until AS untilS FROM known WHERE ${IS_ABSENT}`,
  );
  readonly #heldQueries = this.sql.number<[values: { pid: number; path: string; most: number }]>(
    `SELECT count(*) FROM (${HELD_QUERIES})`,
  );
  readonly #queuedQueries = this.sql.number<[values: { pid: number; path: string; most: number }]>(
    `SELECT count(*) FROM (${QUEUED_QUERIES})`,
  );
  readonly #spiderRoots = this.sql.rows<[], { pid: number; root: string }>(
    'SELECT pid, root FROM pidb JOIN proots USING (pid) WHERE spider = 1 ORDER BY pid',
  );

  /** Providers whose pages are followed, and their roots. */
  spiderProviders(): { pid: number; roots: string[] }[] {
    return this.guard(() => {
      const roots = new Map<number, string[]>();
      for (const { pid, root } of this.#spiderRoots()) roots.set(pid, [...(roots.get(pid) ?? []), root]);
      return [...roots].map(([pid, its]) => ({ pid, roots: its }));
    });
  }

  /** Looks at one state of the database: a transaction for each look costs more than the look. @returns what
   * `looks` does */
  atOnce<T>(looks: () => T): T {
    return this.guard(() => this.db.transaction(looks)());
  }

  /** True if a page is held, waits, or is known not to be had, and why. */
  standingOf(pid: number, curl: string, nowS: number): 'held' | 'waiting' | Absent | undefined {
    return this.guard(() => {
      if (this.#held(pid, curl)) return 'held';
      if (this.#queued(pid, curl)) return 'waiting';
      return this.#absent({ pid, curl, nowS });
    });
  }

  /** Urls of one path with a query that are held or wait. @param path canonical, without query @param most
   * counted of each */
  queriesOf(pid: number, path: string, most: number): number {
    return this.guard(
      () => this.#heldQueries({ pid, path, most }) + this.#queuedQueries({ pid, path, most }),
    );
  }

  /** Pages of a crawl with this content. @param most counted */
  readonly copiesOf = this.guarded(
    this.sql.number<[pid: number, md5: string, most: number]>(
      'SELECT count(*) FROM (SELECT 1 FROM lccurl WHERE pid = ? AND md5 = ? AND hops IS NOT NULL LIMIT ?)',
    ),
  );
}
