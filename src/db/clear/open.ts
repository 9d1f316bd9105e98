/**
 * Opening clear.db. The daemons and the commands of cache clearing all write it, in short transactions; what
 * a commit promises is on disk (`synchronous=FULL`). A damaged database is refused, and not replaced by an
 * empty one: without its rails and path maps nothing would be cleared, and nobody would notice.
 */
import type { Db } from '../../lib/sqlite.js';
import type { Marked } from '../sqlite/marks.js';
import { START_EMPTY } from '../sqlite/open.js';
import type { OwnKind } from '../sqlite/own-database.js';
import { Sql } from '../sqlite/sql-store.js';
import { CLEAR_SCHEMA } from './schema.js';

/** How long a command waits for others that write. */
export const COMMAND_BUSY_MS = 10_000;
/** How long a daemon does, all of whose other work waits meanwhile; it tries again later. */
export const DAEMON_BUSY_MS = 1000;
export const CLEAR_DB: Marked = {
  what: 'request',
  servedBy: 'lccd-hard',
  lastOf: db =>
    Number(db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'clear_cache_queue'").pluck().get() ?? 0),
};
const WAL_KEEP_BYTES = 64 * 1024 * 1024;
const CACHE_KIB = 16 * 1024;
export const CLEAR_KIND: OwnKind = {
  steps: [CLEAR_SCHEMA],
  synchronous: 'FULL',
  pragmas: [`journal_size_limit = ${WAL_KEEP_BYTES}`, `cache_size = -${CACHE_KIB}`, 'foreign_keys = ON'],
  missing: 'there is none yet; lccrail target add makes it',
  upgradedBy: 'lccrail target add',
  remedy:
    'stop what uses it and put back a backup, or move it away and begin with nothing: lccfsck --repair --start-empty',
  marked: CLEAR_DB,
  vanished: START_EMPTY,
};

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
