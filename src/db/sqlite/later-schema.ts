/**
 * Steps of lcc.db after version 1, of which each is the next version. A released one is never edited: what
 * comes later is a step of its own.
 */

/** Columns of a waiting url besides those that say which it is. */
const REST = 'psetid, named, slot, tries, gen, op, flags, subtype, burl, furl, md5, len, mtime, tod, hops';

export const LATER_STEPS: readonly string[] = [
  // Version 2: what nobody announced (spidering.md, section 6); providers that leave, roots that are taken
  // off, when sets came, errors of a kind; for how long origins are left alone by what nobody announced, and
  // what an audit saw first. Columns and tables only; no row of version 1 is rewritten.
  `
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

-- It leaves: when what it holds is removed; NULL = it stays. It is not enabled from then on; leaveenabled: whether it is again when
-- it stays after all.
ALTER TABLE pidb ADD COLUMN leaveat INTEGER;
ALTER TABLE pidb ADD COLUMN leaveenabled INTEGER NOT NULL DEFAULT 1;
-- 1: it is not enabled because an operator said so by way of the Registration Server, which may say the opposite.
ALTER TABLE pidb ADD COLUMN rsdisabled INTEGER NOT NULL DEFAULT 0;
-- Roots were taken off so often: what lies outside of the others is being removed; 0 = none, or all of that is removed.
ALTER TABLE pidb ADD COLUMN trimming INTEGER NOT NULL DEFAULT 0;
CREATE INDEX pidb_leaving ON pidb(pid) WHERE leaveat IS NOT NULL OR trimming > 0;

-- Of a set: when a UNS accepted it, and whether it was a full one.
ALTER TABLE absorbed ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE absorbed ADD COLUMN isfull INTEGER NOT NULL DEFAULT 0;
CREATE INDEX absorbed_pid ON absorbed(pid, psetid);

-- Errors of one code, for the provider's own page; and how many there are of each.
CREATE INDEX pierr_code ON pierr(pid, code, errseq);

-- Times, one after the other, that the origin did not answer what nobody announced.
ALTER TABLE robots ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
-- Nothing that nobody announced is asked of it before.
ALTER TABLE robots ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
-- 1: it was gone when the audit looked first, not changed.
ALTER TABLE audit ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
`,
  // Version 3: the last failure of each url.
  `
-- The last failure of a url that its owner announced, received by its CP or not: until its content comes, it is deleted, or 10,000
-- others of its provider have failed since (db/cache/failures.ts).
CREATE TABLE failure(
  id INTEGER PRIMARY KEY,                       -- ascending: the lowest of a provider is the oldest
  pid INTEGER NOT NULL,
  curl TEXT NOT NULL,
  mimetype TEXT NOT NULL,
  psetid INTEGER NOT NULL,                      -- the set that named it last, 0 = none
  code INTEGER NOT NULL,
  text TEXT NOT NULL,
  at INTEGER NOT NULL,
  UNIQUE (pid, curl, mimetype)
) STRICT;
CREATE INDEX failure_oldest ON failure(pid, id);
-- 1: content of its url has come since; it stays as the last of others that are only counted, and is not shown.
ALTER TABLE pierr ADD COLUMN cured INTEGER NOT NULL DEFAULT 0;
`,
  // Version 4: which run of a machine's Bot Manager was here last, when an audit looked twice, roots given
  // up.
  `
-- How often its names had been opened, and a word of that run: a store that was opened less often, or as often by another run, is an
-- older copy. 0: it has not said.
ALTER TABLE store ADD COLUMN starts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN run TEXT NOT NULL DEFAULT '';
-- When what had changed was looked at once more.
ALTER TABLE audit ADD COLUMN second INTEGER;
-- Roots that a reset of the password has given up, and when what is held of them is removed, seconds (db/providers/given-roots.ts).
CREATE TABLE givenroot(
  pid INTEGER NOT NULL,
  root TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (pid, root)
) STRICT, WITHOUT ROWID;
CREATE INDEX givenroot_at ON givenroot(at);
`,
  // Version 5: pushes (docs/design/push.md).
  `
-- The doors by which something may be pushed, as a list; '' = none.
ALTER TABLE pidb ADD COLUMN push TEXT NOT NULL DEFAULT 'indexnow,ping,feed';

-- Of a set: 0 its owner announced it, 1 pushed, 2 links, 3 a scan, 4 an audit, 5 pushed of a provider whose pushes are worth
-- little. qdb.flags has three more: 32 pushed, with 64 by a feed, with 128 of class 5.
UPDATE qpsdb SET class = class + 1 WHERE class > 0;

-- Looks that pushes have led to, by day (since 1970) and door.
CREATE TABLE pushday(
  pid INTEGER NOT NULL,
  day INTEGER NOT NULL,
  door TEXT NOT NULL,                           -- indexnow, feed
  fetched INTEGER NOT NULL DEFAULT 0,
  changed INTEGER NOT NULL DEFAULT 0,           -- among them: changed, or not held before
  same INTEGER NOT NULL DEFAULT 0,
  gone INTEGER NOT NULL DEFAULT 0,              -- removed
  failed INTEGER NOT NULL DEFAULT 0,            -- neither to be had nor held
  PRIMARY KEY (pid, day, door)
) STRICT, WITHOUT ROWID;
`,
  // Version 6: the interval at which the sets of a provider usually come.
  `
-- Seconds between two sets, as is usual (db/providers/silence.ts); 0 = not known yet.
ALTER TABLE pidb ADD COLUMN setevery REAL NOT NULL DEFAULT 0;
-- Since when that is watched, seconds; 0 = since the last set.
ALTER TABLE pidb ADD COLUMN setssince INTEGER NOT NULL DEFAULT 0;
`,
  // Version 7: providers that move between shards (lcc-cluster(7)).
  `
-- It leaves for another shard (out) or comes from one (in): nothing is fetched of it, no set of it is taken, and nothing that is held
-- of it changes. Those that leave take the login for their site along.
CREATE TABLE moving(
  pid INTEGER PRIMARY KEY,
  way TEXT NOT NULL CHECK (way IN ('out', 'in')),
  login TEXT
) STRICT;
`,
  // Version 8: a waiting url is a folder, which is there once, and a name in it. Its text was there twice, in
  // its row and in the index that finds it: more than half of the queue (docs/design/speed.md).
  `
-- The beginnings of the urls that wait, by provider and type. One that no url has goes after a while.
CREATE TABLE qfolder(
  id INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL,
  folder TEXT NOT NULL,                         -- up to the last slash but one of the path
  mimetype TEXT NOT NULL,
  UNIQUE (pid, folder, mimetype)
) STRICT;

-- QDB: one row per url waiting or being fetched. pos is the place in the queue: each set has a range of its own
-- (qpsdb), so reading a set in order is reading a range of rowids and needs no index. A url that failed for now goes
-- to the end of its set by its number of tries, without moving.
CREATE TABLE queued(
  pos INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL,
  folderid INTEGER NOT NULL,
  name TEXT NOT NULL,                           -- the rest of curl
  psetid INTEGER NOT NULL,                      -- the set that gave it its place
  named INTEGER,                                -- the last set that named it, NULL = psetid
  slot INTEGER NOT NULL DEFAULT -1,             -- STARTTIMESLOT; -1 = as soon as possible
  tries INTEGER NOT NULL DEFAULT 0,
  gen INTEGER NOT NULL DEFAULT 1,               -- raised by every submission of the same url
  op INTEGER NOT NULL DEFAULT 1,                -- 1 fetch, 0 nothing (deleted while it waited)
  flags INTEGER NOT NULL DEFAULT 0,             -- 1 ifabsent, 2 outofroot=drop; who announced it: 4 links, 8 scan, 16 audit,
                                                -- 32 pushed, with 64 by a feed, with 128 of class 5
  subtype TEXT, burl TEXT, furl TEXT, md5 TEXT, len INTEGER,
  -- seconds, of the years 0000 to 9999: a fifth of the bytes of its text, times millions
  mtime INTEGER CHECK (mtime BETWEEN -62167219200 AND 253402300799),
  tod TEXT,
  hops INTEGER,                                 -- links between it and where a crawl began; NULL = announced
  UNIQUE (pid, folderid, name)
) STRICT;

INSERT INTO qfolder(pid, folder, mimetype) SELECT DISTINCT pid, url_folder(curl), mimetype FROM qdb ORDER BY 1, 2, 3;
INSERT INTO queued(pos, pid, folderid, name, ${REST})
  SELECT pos, old.pid, qfolder.id, substr(curl, length(qfolder.folder) + 1), ${REST} FROM qdb AS old CROSS JOIN qfolder
  ON (qfolder.pid, qfolder.folder, qfolder.mimetype) = (old.pid, url_folder(curl), old.mimetype) ORDER BY pos;
DROP TABLE qdb;
CREATE INDEX qdb_bad ON queued(psetid, tries) WHERE tries > 0;
CREATE INDEX qdb_slot ON queued(slot, psetid) WHERE slot >= 0;

-- Both together. A row that is damaged, or whose folder is, has NULL in the place of its url.
CREATE VIEW qdb AS SELECT pos, queued.pid AS pid,
    iif(typeof(folder) = 'text' AND typeof(name) = 'text', folder || name, NULL) AS curl, mimetype, ${REST}
  FROM queued LEFT JOIN qfolder ON qfolder.id = folderid;
CREATE TRIGGER qdb_insert INSTEAD OF INSERT ON qdb BEGIN
  INSERT INTO qfolder(pid, folder, mimetype) VALUES (NEW.pid, url_folder(NEW.curl), NEW.mimetype) ON CONFLICT DO NOTHING;
  INSERT INTO queued(pos, pid, folderid, name, ${REST})
    VALUES (NEW.pos, NEW.pid,
      (SELECT id FROM qfolder WHERE (pid, folder, mimetype) = (NEW.pid, url_folder(NEW.curl), NEW.mimetype)),
      substr(NEW.curl, length(url_folder(NEW.curl)) + 1), NEW.psetid, NEW.named, coalesce(NEW.slot, -1), coalesce(NEW.tries, 0),
      coalesce(NEW.gen, 1), coalesce(NEW.op, 1), coalesce(NEW.flags, 0), NEW.subtype, NEW.burl, NEW.furl, NEW.md5, NEW.len,
      NEW.mtime, NEW.tod, NEW.hops);
END;
`,
];
