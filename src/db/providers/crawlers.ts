/** Providers that crawl what a site may come to name by itself. */
import { rootsAround } from '../../wire/roots.js';
import type { Db } from '../sqlite/open.js';
import { Sql } from '../sqlite/sql-store.js';

/** Of those there are, at most. */
export const CRAWLERS_SHOWN = 10;
/** Sorts after all that begins with what it follows. */
const LAST = '\u{10ffff}';

/** Numbers of enabled providers with `spider`, a root of which is around a directory, that directory, or below it; ascending. */
export function crawlersOf(db: Db, prefix: string): number[] {
  const crawlers = new Sql(db).values<[{ around: string; prefix: string; end: string }], number>(
    `SELECT DISTINCT pid FROM proots JOIN pidb USING (pid)
       WHERE spider = 1 AND enabled = 1
         AND (root IN (SELECT value FROM json_each($around)) OR (root >= $prefix AND root < $end))
       ORDER BY pid LIMIT ${CRAWLERS_SHOWN}`,
  );
  return crawlers({ around: JSON.stringify(rootsAround(prefix)), prefix, end: prefix + LAST });
}
