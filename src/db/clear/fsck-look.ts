/** A new beginning of clear.db: the caller has the locks of both daemons then. */
import type { Db } from '../../lib/sqlite.js';
import { Sql } from '../sqlite/sql-store.js';

/** Publications between a backup and what was put back in its place are fewer. */
const SKIPPED_SEQS = 10_000_000;

/**
 * Lets the database begin again with what it knows: other marks, numbers and names that were never given out,
 * and every page
 * that was ever published is published once more. Inside a transaction.
 */
export function beginClearAnew(db: Db, nowMs: number): void {
  db.exec("INSERT OR REPLACE INTO meta VALUES ('store_id', lower(hex(randomblob(16))))");
  const last = new Sql(db).number("SELECT value FROM counter WHERE name = 'publish_seq'")();
  const base = last + SKIPPED_SEQS;
  const pages = db
    .prepare<{ base: number; nowMs: number }>(
      `UPDATE page_publish_info SET publish_seq = $base + place, published_ms = $nowMs, attempts = 0, next_try_ms = 0
       FROM (SELECT url AS u, target AS t, row_number() OVER (ORDER BY publish_seq) AS place FROM page_publish_info)
       WHERE url = u AND target = t`,
    )
    .run({ base, nowMs }).changes;
  const put = db.prepare<[string, number]>(
    'INSERT INTO counter VALUES (?, ?) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)',
  );
  put.run('publish_seq', base + pages);
  put.run('last_stamp', nowMs);
  put.run('mark', 0);
}
