/**
 * Opening clear.db. The daemons and the commands of cache clearing all write it, in short transactions; what
 * a commit promises is on disk (`synchronous=FULL`). A damaged database is refused, and not replaced by an
 * empty one: without its rails and path maps nothing would be cleared, and nobody would notice.
 */
import type { Marked } from '../sqlite/marks.js';
import { START_EMPTY } from '../sqlite/open.js';
import type { OwnKind } from '../sqlite/own-database.js';
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
