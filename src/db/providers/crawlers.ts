/** Providers that crawl, or have, what a site may come to name by itself. */
import { rootsAround } from '../../wire/roots.js';
import type { Db } from '../sqlite/open.js';
import { Sql } from '../sqlite/sql-store.js';

/** Most crawlers that are shown. */
const CRAWLERS_SHOWN = 10;
/** Sorts after all that begins with what it follows. */
const LAST = '\u{10ffff}';

/** Numbers of enabled providers with `spider`, a root of which is around a directory, that directory, or
 * below it; ascending. */
export function crawlersOf(db: Db, prefix: string): number[] {
  const crawlers = new Sql(db).values<[{ around: string; prefix: string; end: string }], number>(
    `SELECT DISTINCT pid FROM proots JOIN pidb USING (pid)
       WHERE spider = 1 AND enabled = 1
         AND (root IN (SELECT value FROM json_each($around)) OR (root >= $prefix AND root < $end))
       ORDER BY pid LIMIT ${CRAWLERS_SHOWN}`,
  );
  return crawlers({ around: JSON.stringify(rootsAround(prefix)), prefix, end: prefix + LAST });
}

/** Roots of one host that are compared. */
const MOST_COMPARED = 10_000;

/** Numbers of enabled providers that announce, a root of which is around a directory, that directory, or
 * below it, however many slashes follow each other in either; ascending, CRAWLERS_SHOWN at most. */
export function announcersOf(db: Db, prefix: string): number[] {
  if (!URL.canParse(prefix)) return [];
  const { origin } = new URL(prefix);
  const rows = new Sql(db).rows<[from: string, end: string], { pid: number; root: string }>(
    `SELECT pid, root FROM proots JOIN pidb USING (pid)
       WHERE root >= ? AND root < ? AND spider = 0 AND enabled = 1 ORDER BY pid LIMIT ${MOST_COMPARED}`,
  )(`${origin}/`, `${origin}/${LAST}`);
  const own = directoryOf(prefix);
  const meets = rows.filter(({ root }) => {
    const other = directoryOf(root);
    return own.startsWith(other) || other.startsWith(own);
  });
  return [...new Set(meets.map(({ pid }) => pid))].slice(0, CRAWLERS_SHOWN);
}

/** With a slash at its end, and none after another. */
function directoryOf(root: string): string {
  const { origin, pathname } = new URL(root);
  return `${origin}${`${pathname}/`.replace(/\/{2,}/g, '/')}`;
}
