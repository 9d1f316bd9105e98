/** Version 2 of lcc.db: what nobody announced (spidering.md, section 6). Columns and tables only; no row of
 * version 1 is rewritten. A released step is never edited: what comes later is a step of its own. */
export const SPIDERING_SCHEMA = `
-- 1: its pages are read for links, and what they link to is fetched.
ALTER TABLE pidb ADD COLUMN spider INTEGER NOT NULL DEFAULT 0;
-- 1: what it holds is asked for again now and then; NULL = as spider.
ALTER TABLE pidb ADD COLUMN scan INTEGER;
-- Urls a day that a scan may ask for; NULL = as configured.
ALTER TABLE pidb ADD COLUMN scanperday INTEGER;
-- Providers of one name share qm.group_lanes; NULL = none.
ALTER TABLE pidb ADD COLUMN groupname TEXT;
-- Its score of truthfulness: 0 shown only, 1 has effects, 2 has effects and its priority is lowered by one now.
ALTER TABLE pidb ADD COLUMN truthmode INTEGER NOT NULL DEFAULT 1;
-- When it is audited next; 0 = not planned.
ALTER TABLE pidb ADD COLUMN auditdue INTEGER NOT NULL DEFAULT 0;

-- Of a set: 0 its owner announced it, 1 links, 2 a scan, 3 an audit. A provider's sets are fetched in the order of class, psetid.
ALTER TABLE qpsdb ADD COLUMN class INTEGER NOT NULL DEFAULT 0;
DROP INDEX qpsdb_now;
CREATE INDEX qpsdb_now ON qpsdb(pid, class, psetid) WHERE starttimeslot = -1;

-- Links between it and a page that its provider's crawl began with; NULL = announced. qdb.flags has three more: 4 links,
-- 8 scan, 16 audit; without any of them its owner announced it. All rows of a set are of its class.
ALTER TABLE qdb ADD COLUMN hops INTEGER;

-- 1: announced as '*/*', and of the type that was served.
ALTER TABLE lccurl ADD COLUMN served INTEGER NOT NULL DEFAULT 0;
-- As in qdb; NULL = its owner announced it.
ALTER TABLE lccurl ADD COLUMN hops INTEGER;
-- Where the content came from after redirects, the base of its relative links; NULL = furl.
ALTER TABLE lccurl ADD COLUMN finalurl TEXT;
-- X-Robots-Tag, as the server sent it.
ALTER TABLE lccurl ADD COLUMN robots TEXT;
CREATE UNIQUE INDEX lccurl_served ON lccurl(pid, curl) WHERE served = 1;
-- Pages of a crawl with the same content.
CREATE INDEX lccurl_same ON lccurl(pid, md5) WHERE hops IS NOT NULL;

-- What was asked unasked and is not held: until then, ifabsent takes it for present.
CREATE TABLE known(
  pid INTEGER NOT NULL,
  curl TEXT NOT NULL,
  code INTEGER NOT NULL,                        -- status, or code of lcc-codes(7)
  times INTEGER NOT NULL DEFAULT 1,             -- with that outcome, one after the other
  asked INTEGER NOT NULL,                       -- last
  until INTEGER NOT NULL,
  hops INTEGER,
  PRIMARY KEY (pid, curl)
) STRICT, WITHOUT ROWID;
-- The oldest of a provider, and those whose time has come.
CREATE INDEX known_until ON known(pid, until);

-- robots.txt of each origin that something unasked was to be fetched from.
CREATE TABLE robots(
  origin TEXT PRIMARY KEY,                      -- scheme, host and port
  http INTEGER NOT NULL,                        -- status of the last answer, 0 = none
  body TEXT,                                    -- of the last 2xx, its first 512 000 bytes; NULL = there was none
  etag TEXT, lastmodified TEXT,
  fetched INTEGER NOT NULL DEFAULT 0,           -- when body came, or was confirmed
  checked INTEGER NOT NULL                      -- when it was asked for last
) STRICT, WITHOUT ROWID;
CREATE INDEX robots_checked ON robots(checked);

-- How often held content changes, of providers that are scanned; the oldest visits count less and less.
CREATE TABLE visit(
  id INTEGER PRIMARY KEY,                       -- of lccurl
  checked INTEGER NOT NULL,                     -- when it was fetched or confirmed last
  n INTEGER NOT NULL,                           -- visits
  x INTEGER NOT NULL,                           -- visits that found it changed
  t INTEGER NOT NULL,                           -- seconds between them
  fails INTEGER NOT NULL DEFAULT 0,             -- failures since then that left the content
  failcode INTEGER,                             -- of the last
  failsince INTEGER,                            -- when the first was
  scored INTEGER,                               -- day on which it counted for truth last
  noisyuntil INTEGER                            -- its bytes differ at every fetch: it counts nowhere before
) STRICT;

-- What a provider's announcements were worth, by day (since 1970): a url counts once a day.
CREATE TABLE truth(
  pid INTEGER NOT NULL,
  day INTEGER NOT NULL,
  changed INTEGER NOT NULL DEFAULT 0,           -- held, announced as updated, and changed
  same INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  fresh INTEGER NOT NULL DEFAULT 0,             -- not held before: in no score
  audited INTEGER NOT NULL DEFAULT 0,           -- settled by an audit
  silent INTEGER NOT NULL DEFAULT 0,            -- of which changed without a word
  late INTEGER NOT NULL DEFAULT 0,
  dead INTEGER NOT NULL DEFAULT 0,
  noisy INTEGER NOT NULL DEFAULT 0,
  removed INTEGER NOT NULL DEFAULT 0,           -- found gone by a scan or an audit: in no score
  keptback INTEGER NOT NULL DEFAULT 0,          -- that too, but more than the fuse permits
  PRIMARY KEY (pid, day)
) STRICT, WITHOUT ROWID;

-- The sample of each audit, until the audit is over.
CREATE TABLE audit(
  pid INTEGER NOT NULL,
  began INTEGER NOT NULL,                       -- which of its audits
  id INTEGER NOT NULL,                          -- of lccurl
  curl TEXT NOT NULL,
  mimetype TEXT NOT NULL,
  -- 0 drawn, 1 changed or gone and still without a notice, 2 true, 3 late, 4 silent, 5 dead, 6 failed
  state INTEGER NOT NULL DEFAULT 0,
  asked INTEGER,                                -- when it was fetched
  again INTEGER,                                -- when it is asked for once more: gone, or other bytes each time?
  PRIMARY KEY (pid, began, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_drawn ON audit(began) WHERE state = 0;
CREATE INDEX audit_again ON audit(again) WHERE again IS NOT NULL;
CREATE INDEX audit_unsettled ON audit(asked) WHERE state = 1;
`;
