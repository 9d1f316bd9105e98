/** Providers that crawl what a site may come to name by itself. */
import { rootsAround } from '../../wire/roots.js';
import type { Db } from '../sqlite/open.js';

/** Of those there are, at most. */
export const CRAWLERS_SHOWN = 10;
/** Sorts after all that begins with what it follows. */
const LAST = '\u{10ffff}';

/** Numbers of enabled providers with `spider`, a root of which is around a directory, that directory, or below it; ascending. */
export function crawlersOf(db: Db, prefix: string): number[] {
  return db
    .prepare<{ around: string; prefix: string; end: string; most: number }, number>(
      `SELECT DISTINCT pid FROM proots JOIN pidb USING (pid)
       WHERE spider = 1 AND enabled = 1
         AND (root IN (SELECT value FROM json_each($around)) OR (root >= $prefix AND root < $end))
       ORDER BY pid LIMIT $most`,
    )
    .pluck()
    .all({
      around: JSON.stringify(rootsAround(prefix)),
      prefix,
      end: prefix + LAST,
      most: CRAWLERS_SHOWN,
    });
}
