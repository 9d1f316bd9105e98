/**
 * The schema of lcc.db, version 1: that of 0.1.0. What came since is in later-schema.ts. Tables and
 * columns the documents name keep their names (pidb, proots, lccurl, qdb, qpsdb), so that the documents' SQL
 * works as printed. Times are seconds since 1970 (INTEGER), except lccurl.mtime, which is stored as it is
 * printed (RFC 3339 UTC seconds).
 *
 * Tables are STRICT: a row that damage has given a value of another type is found by SQLite's own check, and
 * cannot be copied into a new database.
 *
 * Rowid tables with UNIQUE(pid, curl, mimetype): keys cluster by provider. Random keys cost nine times as
 * much.
 */
export const LCC_SCHEMA = `
-- store_id: a random uuid made with the database; cursors of content users name it.
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- Last numbers given out, never taken back: seq (change sequence of lccurl, tombstone and oldpath), pos (places in the
-- queue), psetid.
-- purged: the highest seq of a tombstone that has been forgotten; an older cursor must resynchronise.
-- mark: raised with whatever is committed; the same number stands beside the database (marks.ts).
-- dueat: with qm.bandwidth_bytes_per_s, no fetch begins before this time (milliseconds since 1970).
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO counter VALUES ('seq', 0), ('pos', 0), ('psetid', 0), ('purged', 0), ('mark', 0), ('dueat', 0);

-- PIDB: the provider information database.
CREATE TABLE pidb(
  pid INTEGER PRIMARY KEY CHECK (pid > 0),
  password TEXT NOT NULL,                       -- sha256:SALT:HASH, hex
  enabled INTEGER NOT NULL DEFAULT 1,
  filesmax INTEGER NOT NULL DEFAULT 1000000,
  spacemax INTEGER NOT NULL DEFAULT 107374182400,
  fullsetsallowed INTEGER NOT NULL DEFAULT 3,   -- unsolicited ones within qm.full_set_period_ms
  bandwidth INTEGER NOT NULL DEFAULT 0,         -- bytes per second, 0 = unlimited
  timeofday TEXT NOT NULL DEFAULT '',           -- 24 or 168 characters 0/1, '' = always
  priority INTEGER NOT NULL DEFAULT 1 CHECK (priority IN (0, 1, 2)),
  parallel INTEGER NOT NULL DEFAULT 1 CHECK (parallel BETWEEN 1 AND 64),
  enforce INTEGER NOT NULL DEFAULT 0,           -- 1: announced md5 and len must be met (code 612)
  paused INTEGER NOT NULL DEFAULT 0,            -- 1: the operator stopped fetching from it
  fusepercent INTEGER,                          -- mass-delete fuse; NULL = qm.fuse_percent
  fuseurls INTEGER,                             -- NULL = qm.fuse_urls
  -- limits of one fetch, where they are tighter than the robot's own; NULL = as configured
  maxlen INTEGER,                               -- bytes, decoded
  fetchtimeout INTEGER,                         -- milliseconds
  useragent TEXT,                               -- NULL = as configured
  pacems INTEGER,                               -- pause between two fetches in milliseconds; NULL = qm.pace_ms
  -- kept by the QM, in the transactions that change what they count
  filesused INTEGER NOT NULL DEFAULT 0,         -- rows of lccurl
  spaceused INTEGER NOT NULL DEFAULT 0,         -- their bytes
  nurlerrs INTEGER NOT NULL DEFAULT 0,          -- errors the provider has not received, kept in pierr or only counted
  nurlproc INTEGER NOT NULL DEFAULT 0,          -- rows of qdb
  lastconnseq INTEGER NOT NULL DEFAULT 0,
  lastconnip TEXT NOT NULL DEFAULT '',
  lastconntime INTEGER NOT NULL DEFAULT 0,      -- when its CP last connected
  fullsetwanted TEXT,                           -- reason, NULL = not wanted
  fullsetsused INTEGER NOT NULL DEFAULT 0,      -- since fullsetssince
  fullsetssince INTEGER NOT NULL DEFAULT 0,
  lastset INTEGER NOT NULL DEFAULT 0,           -- when the last set was absorbed
  -- that set: its id, the UNS it came by, and what was known when it was accepted (qm/set-order.ts)
  latestpsetid INTEGER NOT NULL DEFAULT 0,
  latestuns TEXT NOT NULL DEFAULT '',
  latestnumbering TEXT NOT NULL DEFAULT '',
  latestconnseq INTEGER NOT NULL DEFAULT 0,
  backoffs INTEGER NOT NULL DEFAULT 0,          -- failures of the site as a whole, one after the other
  backoffuntil INTEGER NOT NULL DEFAULT 0,      -- no fetch before this time
  dueat INTEGER NOT NULL DEFAULT 0,             -- bandwidth: no fetch before this time (milliseconds since 1970)
  origin TEXT NOT NULL DEFAULT 'operator' CHECK (origin IN ('operator', 'rs')), -- who added it: rs, it registered by itself
  generation INTEGER NOT NULL DEFAULT 1         -- of the password: one more with each that replaces another
) STRICT;
CREATE TABLE proots(
  pid INTEGER NOT NULL REFERENCES pidb ON DELETE CASCADE,
  root TEXT NOT NULL,
  PRIMARY KEY (pid, root)
) STRICT, WITHOUT ROWID;
-- Providers with a root around a url.
CREATE INDEX proots_root ON proots(root);

-- Operations of the Registration Server, each with its answer: sent again, one is answered and not carried out again.
CREATE TABLE rsop(
  id TEXT PRIMARY KEY,                          -- a UUID
  op TEXT NOT NULL,
  pid INTEGER NOT NULL,
  digest TEXT NOT NULL,                         -- of what it says
  answer TEXT NOT NULL,                         -- JSON
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX rsop_at ON rsop(at);

-- The answer to a site that asks for a user and a password (RFC 7617): user:password, as it is. Not a column of pidb, so
-- that listing providers does not show it.
CREATE TABLE sitelogin(
  pid INTEGER PRIMARY KEY REFERENCES pidb ON DELETE CASCADE,
  login TEXT NOT NULL
) STRICT;

-- Errors of fetches, kept for the provider until it has received them.
CREATE TABLE pierr(
  errseq INTEGER PRIMARY KEY AUTOINCREMENT,
  pid INTEGER NOT NULL,
  code INTEGER NOT NULL,
  text TEXT NOT NULL,
  attrs TEXT NOT NULL                          -- all that the CP said of the url, as printed: ' curl="…" mimetype="…"'
) STRICT;
CREATE INDEX pierr_pid ON pierr(pid, errseq);
-- What a later fetch of the url has cured.
CREATE INDEX pierr_url ON pierr(pid, attrs);
-- UNSes remember up to which error a CP has received, in a database of their own. In an lcc.db that replaces a lost or
-- damaged one the numbers must go on above: there are fewer errors than milliseconds since 1970.
INSERT INTO sqlite_sequence(name, seq) VALUES ('pierr', CAST(unixepoch('subsec') * 1000 AS INTEGER));

-- QDB: one row per url waiting or being fetched. pos is the place in the queue: each set has a range of its own
-- (qpsdb), so reading a set in order is reading a range of rowids and needs no index. A url that failed for now goes
-- to the end of its set by its number of tries, without moving.
CREATE TABLE qdb(
  pos INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL,
  curl TEXT NOT NULL,
  mimetype TEXT NOT NULL,
  psetid INTEGER NOT NULL,                      -- the set that gave it its place
  named INTEGER,                                -- the last set that named it, NULL = psetid
  slot INTEGER NOT NULL DEFAULT -1,             -- STARTTIMESLOT; -1 = as soon as possible
  tries INTEGER NOT NULL DEFAULT 0,
  gen INTEGER NOT NULL DEFAULT 1,               -- raised by every submission of the same url
  op INTEGER NOT NULL DEFAULT 1,                -- 1 fetch, 0 nothing (deleted while it waited)
  flags INTEGER NOT NULL DEFAULT 0,             -- 1 ifabsent, 2 outofroot=drop
  subtype TEXT, burl TEXT, furl TEXT, md5 TEXT, len INTEGER,
  -- seconds, of the years 0000 to 9999: a fifth of the bytes of its text, times millions
  mtime INTEGER CHECK (mtime BETWEEN -62167219200 AND 253402300799),
  tod TEXT,
  UNIQUE (pid, curl, mimetype)
) STRICT;
CREATE INDEX qdb_bad ON qdb(psetid, tries) WHERE tries > 0;
CREATE INDEX qdb_slot ON qdb(slot, psetid) WHERE slot >= 0;

-- QPSDB: the complete provider sets, in the order of their absorption. Can be rebuilt from qdb.
CREATE TABLE qpsdb(
  psetid INTEGER NOT NULL,
  starttimeslot INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  firstpos INTEGER NOT NULL,                    -- its rows in qdb have places from firstpos to lastpos
  lastpos INTEGER NOT NULL,
  absorbedat INTEGER NOT NULL DEFAULT 0,        -- when the set was absorbed: the age of the queue in lccstat
  PRIMARY KEY (psetid, starttimeslot)
) STRICT, WITHOUT ROWID;
-- Of millions of sets only the first are looked at. Those that may be fetched now, provider by provider, in their order:
CREATE INDEX qpsdb_now ON qpsdb(pid, psetid) WHERE starttimeslot = -1;
-- Those that wait for a time slot, slot by slot, provider by provider, in their order:
CREATE INDEX qpsdb_later ON qpsdb(starttimeslot, pid, psetid) WHERE starttimeslot >= 0;
-- The places of sets, in their order:
CREATE INDEX qpsdb_places ON qpsdb(firstpos);

-- Sets taken from UNSes: what makes a set sent twice count once, and one cut off in the middle go on where it stopped.
CREATE TABLE absorbed(
  uns TEXT NOT NULL,
  entry TEXT NOT NULL,
  psetid INTEGER NOT NULL UNIQUE,
  pid INTEGER NOT NULL,
  firstpos INTEGER NOT NULL,
  lastpos INTEGER NOT NULL,
  rowsdone INTEGER NOT NULL,                    -- urls of the set applied so far
  complete INTEGER NOT NULL,
  queued INTEGER NOT NULL DEFAULT 0,
  duplicate INTEGER NOT NULL DEFAULT 0,
  unchanged INTEGER NOT NULL DEFAULT 0,
  deleted INTEGER NOT NULL DEFAULT 0,
  files INTEGER NOT NULL DEFAULT 0,             -- by how many files and bytes the provider's content would grow
  space INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (uns, entry)
) STRICT, WITHOUT ROWID;
-- The few sets that are being taken among the many that were.
CREATE INDEX absorbed_open ON absorbed(psetid) WHERE complete = 0;

-- Sets whose removals the fuse holds back, until the operator or an identical set releases them.
CREATE TABLE held(
  psetid INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL,
  state INTEGER NOT NULL,                       -- 0 being taken, 1 held, 2 released, 3 discarded
  isfull INTEGER NOT NULL,                      -- 1: a full set, 0: the deletes of a partial one (helddelete)
  urls INTEGER NOT NULL,                        -- how much content it would remove
  digest TEXT NOT NULL,                         -- of the set's content and prefix: an identical set has the same
  heldat INTEGER NOT NULL
) STRICT;
CREATE INDEX held_pid ON held(pid, psetid);
-- The deletes of a held partial set.
CREATE TABLE helddelete(
  psetid INTEGER NOT NULL REFERENCES held ON DELETE CASCADE,
  curl TEXT NOT NULL,
  mimetype TEXT NOT NULL,
  PRIMARY KEY (psetid, curl, mimetype)
) STRICT, WITHOUT ROWID;

-- How long ago a set was taken, in time the Queue Manager ran: a mark each hour, with the next set's id.
CREATE TABLE agemark(
  mark INTEGER PRIMARY KEY,
  psetid INTEGER NOT NULL,
  at INTEGER NOT NULL                           -- seconds
) STRICT;

-- LCC DB: one row per url whose content is held. id is the sequence number of the row's creation: never used again.
CREATE TABLE lccurl(
  id INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL,
  curl TEXT NOT NULL,
  mimetype TEXT NOT NULL,
  subtype TEXT,
  burl TEXT,                                    -- NULL = curl, '' = not browsable
  givenfurl TEXT,
  furl TEXT GENERATED ALWAYS AS (coalesce(givenfurl, curl)) VIRTUAL,
  md5 TEXT NOT NULL,                            -- of the content stored
  len INTEGER NOT NULL,
  mtime TEXT,                                   -- as the CP said, else Last-Modified
  saidmd5 TEXT, saidlen INTEGER,                -- what the CP said when it was fetched, where it differs from the above
  doubted INTEGER NOT NULL DEFAULT 0,           -- 1: that is not believed yet (db/cache/as-announced.ts)
  etag TEXT, lastmodified TEXT,                 -- validators for conditional requests, as the server sent them
  http_charset TEXT,                            -- encoding that the server named, as the Encoding Standard calls it
  verified INTEGER NOT NULL DEFAULT 1,          -- 0: a body that ended by close and could not be checked
  fetched_time INTEGER NOT NULL,
  changed_time INTEGER,                         -- when what content users see of the row changed, if after its fetch
  fetched_machineid TEXT NOT NULL,
  fetched_fileid TEXT NOT NULL,
  psetid INTEGER NOT NULL,                      -- the last set that named it
  seq INTEGER NOT NULL,                         -- of its last change
  UNIQUE (pid, curl, mimetype)
) STRICT;
CREATE UNIQUE INDEX lccurl_seq ON lccurl(seq);
-- Rows that share a browse URL. Few providers give one; a row without is found by its curl.
CREATE INDEX lccurl_burl ON lccurl(burl) WHERE burl IS NOT NULL;
-- The row of a path in the store (lccq-resolve).
CREATE INDEX lccurl_file ON lccurl(fetched_fileid);

-- Deletions, remembered for content users. id is the lccurl row's.
CREATE TABLE tombstone(
  seq INTEGER PRIMARY KEY,
  id INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  curl TEXT NOT NULL,
  mimetype TEXT NOT NULL,
  burl TEXT,
  deleted_time INTEGER NOT NULL,
  moved INTEGER NOT NULL DEFAULT 0             -- 1: only the browse URL is gone, for the row got another
) STRICT;
CREATE INDEX tombstone_burl ON tombstone(coalesce(burl, curl), seq);

-- Files that rows no longer point to, by the change that let go of them, for indexes that know pages by path; remembered
-- as long as deletions. pid and mimetype are those of the row.
CREATE TABLE oldpath(
  seq INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL,
  mimetype TEXT NOT NULL,
  machineid TEXT NOT NULL,
  fileid TEXT NOT NULL,
  left_time INTEGER NOT NULL
) STRICT;

-- Files no row points to any more: written in the transaction that let go of them, removed when the machine's BM
-- has freed them (or the fsm spool has taken them over).
CREATE TABLE freed(
  fid INTEGER PRIMARY KEY AUTOINCREMENT,
  machineid TEXT NOT NULL,
  fileid TEXT NOT NULL
) STRICT;
CREATE INDEX freed_machine ON freed(machineid, fid);

-- The store of each machine that rows point into: a store made later would give their names to other content.
CREATE TABLE store(
  machineid TEXT PRIMARY KEY,
  storeid TEXT NOT NULL,
  syncedseq INTEGER NOT NULL DEFAULT 0          -- sync point: content of rows with seq up to this is on its disk
) STRICT, WITHOUT ROWID;
`;
