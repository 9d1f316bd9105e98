/**
 * The schema of clear.db, the database of cache clearing. Tables have the names of the paper that cache
 * clearing was first described in, in lower case. Times are milliseconds since 1970.
 *
 * A row of `clear_cache_queue` is the delivery journal of its request: nothing is written for each rail,
 * unless a rail cannot take its part now (`rail_backlog`).
 */
export const CLEAR_SCHEMA = `
-- store_id: made with the database, by which the marks beside it know it.
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('store_id', lower(hex(randomblob(16))));

-- mark: raised with whatever is committed; the same number stands beside the database (db/sqlite/marks.ts).
-- publish_seq: numbers what happens to pages, in one order: publications, and entries of rail_backlog.
-- last_stamp: the timestamp in the name of the page that was generated last.
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO counter VALUES ('publish_seq', 0), ('last_stamp', 0), ('mark', 0);

-- Positions of feeds, moved in the transaction that queues what was read.
CREATE TABLE cursor(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- An elementary target has rails, a group has other targets.
CREATE TABLE target(
  name TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('elementary', 'group')),
  lb_url TEXT,                                  -- the load balancer, where pages are generated
  host TEXT                                     -- the Host that its pages are asked for with
) STRICT, WITHOUT ROWID;
CREATE TABLE target_member(
  target TEXT NOT NULL REFERENCES target(name) ON DELETE CASCADE,
  member TEXT NOT NULL REFERENCES target(name) ON DELETE CASCADE,
  PRIMARY KEY (target, member)
) STRICT, WITHOUT ROWID;
CREATE INDEX target_member_above ON target_member(member, target);

CREATE TABLE rail(
  name TEXT PRIMARY KEY,
  target TEXT NOT NULL REFERENCES target(name),
  url TEXT NOT NULL UNIQUE,
  driver TEXT NOT NULL DEFAULT 'apache-dav',
  tier INTEGER NOT NULL DEFAULT 0 CHECK (tier >= 0),
  workers INTEGER NOT NULL DEFAULT 4 CHECK (workers > 0),
  host TEXT,                                    -- the Host that it is asked with; NULL = that of url
  auth_ref TEXT,                                -- a section of the file of secrets
  cleanup TEXT NOT NULL DEFAULT 'exact' CHECK (cleanup IN ('exact', 'wildcard')),
  opts TEXT NOT NULL DEFAULT '{}'               -- JSON, for its driver
) STRICT, WITHOUT ROWID;
CREATE TABLE rail_status(
  rail TEXT PRIMARY KEY REFERENCES rail(name) ON DELETE CASCADE,
  state TEXT NOT NULL CHECK (state IN ('UP', 'DOWN')),
  change_time_ms INTEGER NOT NULL,
  changed_by TEXT NOT NULL CHECK (changed_by IN ('admin', 'cachebot')),
  reason TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE TABLE path_map(
  content_type TEXT NOT NULL,
  target TEXT NOT NULL REFERENCES target(name) ON DELETE CASCADE,
  path TEXT NOT NULL,
  extension TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (content_type, target, path, extension)
) STRICT, WITHOUT ROWID;

CREATE TABLE clear_cache_queue(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  content_id TEXT NOT NULL,
  content_type TEXT NOT NULL,
  target TEXT NOT NULL,
  force INTEGER NOT NULL DEFAULT 0 CHECK (force IN (0, 1)),
  source TEXT NOT NULL DEFAULT '',
  enqueued_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX clear_cache_queue_key ON clear_cache_queue(content_id, content_type, target, id);
CREATE TABLE clear_rejected(
  id INTEGER PRIMARY KEY,                       -- that of the request
  content_id TEXT NOT NULL,
  content_type TEXT NOT NULL,
  target TEXT NOT NULL,
  error TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT;

-- Which pages are replaced instead of deleted.
CREATE TABLE soft_clear_cache(
  url TEXT NOT NULL,
  target TEXT NOT NULL REFERENCES target(name) ON DELETE CASCADE,
  is_pattern INTEGER NOT NULL DEFAULT 0 CHECK (is_pattern IN (0, 1)),
  enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  min_interval_ms INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (url, target)
) STRICT, WITHOUT ROWID;
-- Pages of those that were published, and how far that is known on all rails.
CREATE TABLE page_publish_info(
  url TEXT NOT NULL,
  target TEXT NOT NULL REFERENCES target(name) ON DELETE CASCADE,
  publish_seq INTEGER NOT NULL,
  published_ms INTEGER NOT NULL,
  content_id TEXT NOT NULL DEFAULT '',          -- some caches are told that
  done_seq INTEGER NOT NULL DEFAULT 0,          -- the publication that is on every rail, or in its backlog
  done_ms INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_try_ms INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  PRIMARY KEY (url, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX page_publish_info_due ON page_publish_info(next_try_ms, publish_seq) WHERE publish_seq > done_seq;

-- What a rail has still to be sent: one row for each url, so the backlog of a rail that is down has an end.
CREATE TABLE rail_backlog(
  rail TEXT NOT NULL REFERENCES rail(name) ON DELETE CASCADE,
  url TEXT NOT NULL,
  op TEXT NOT NULL CHECK (op IN ('D', 'P')),    -- clear; put the body of that name
  content_id TEXT NOT NULL DEFAULT '',
  body_sha TEXT,
  seq INTEGER NOT NULL,                         -- of counter publish_seq: an entry replaces those with lower ones
  first_ms INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_ms INTEGER NOT NULL DEFAULT 0,           -- not before
  dead INTEGER NOT NULL DEFAULT 0 CHECK (dead IN (0, 1)),
  last_error TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (rail, url)
) STRICT, WITHOUT ROWID;
CREATE INDEX rail_backlog_due ON rail_backlog(rail, op, next_ms, first_ms) WHERE dead = 0;
CREATE INDEX rail_backlog_body ON rail_backlog(body_sha) WHERE body_sha IS NOT NULL;

-- Every name with a timestamp, committed before it is asked for.
CREATE TABLE generated_page(
  ts_url TEXT NOT NULL,
  target TEXT NOT NULL REFERENCES target(name) ON DELETE CASCADE,
  url TEXT NOT NULL,
  made_ms INTEGER NOT NULL,                     -- the timestamp in it
  PRIMARY KEY (ts_url, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX generated_page_page ON generated_page(target, url);

-- What was cleared on all rails of a target, or left in their backlogs, lately.
CREATE TABLE clear_journal(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  target TEXT NOT NULL,
  url TEXT NOT NULL,
  op TEXT NOT NULL CHECK (op IN ('D', 'P')),
  content_id TEXT NOT NULL DEFAULT ''
) STRICT;
`;
