/**
 * Schema 1. Tables and columns the documents name keep their names (pidb, proots, lccurl, qdb, qpsdb), so that the
 * documents' SQL works as printed. Times are seconds since 1970 (INTEGER) but `mtime`, which is stored as it is
 * printed (RFC 3339 UTC seconds).
 *
 * Rowid tables with UNIQUE(pid, curl, mimetype): keys cluster by provider. Random keys cost nine times as much.
 */
export const migration001 = `
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

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
  -- kept by the QM, in the transactions that change what they count
  filesused INTEGER NOT NULL DEFAULT 0,
  spaceused INTEGER NOT NULL DEFAULT 0,
  nurlerrs INTEGER NOT NULL DEFAULT 0,
  nurlproc INTEGER NOT NULL DEFAULT 0,
  lastconnseq INTEGER NOT NULL DEFAULT 0,
  lastconnip TEXT NOT NULL DEFAULT '',
  fullsetwanted TEXT,                           -- reason, NULL = not wanted
  fullsetsused INTEGER NOT NULL DEFAULT 0,      -- since fullsetssince
  fullsetssince INTEGER NOT NULL DEFAULT 0,
  lastset INTEGER NOT NULL DEFAULT 0            -- when the last set was absorbed
);
CREATE TABLE proots(
  pid INTEGER NOT NULL REFERENCES pidb ON DELETE CASCADE,
  root TEXT NOT NULL,
  PRIMARY KEY (pid, root)
) WITHOUT ROWID;

-- Errors of fetches, kept for the provider until it has received them.
CREATE TABLE pierr(
  errseq INTEGER PRIMARY KEY AUTOINCREMENT,
  pid INTEGER NOT NULL,
  code INTEGER NOT NULL,
  text TEXT NOT NULL,
  attrs TEXT NOT NULL                           -- all that the CP said of the url, as printed: ' curl="…" mimetype="…"'
);
CREATE INDEX pierr_pid ON pierr(pid, errseq);

-- QDB: one row per url waiting or being fetched. pos is the place in the queue; a retried url goes to the end of its
-- set by its number of tries, without moving.
CREATE TABLE qdb(
  pos INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL,
  curl TEXT NOT NULL,
  mimetype TEXT NOT NULL,
  psetid INTEGER NOT NULL,
  slot INTEGER NOT NULL DEFAULT -1,             -- STARTTIMESLOT; -1 = as soon as possible
  tries INTEGER NOT NULL DEFAULT 0,
  gen INTEGER NOT NULL,                         -- raised by every submission of the same url
  op INTEGER NOT NULL,                          -- 1 fetch, 0 nothing (deleted while it waited)
  flags INTEGER NOT NULL DEFAULT 0,             -- 1 ifabsent, 2 outofroot=drop
  subtype TEXT, burl TEXT, furl TEXT, md5 TEXT, len INTEGER, mtime TEXT, tod TEXT,
  UNIQUE (pid, curl, mimetype)
);
CREATE INDEX qdb_order ON qdb(psetid, slot, tries);

-- QPSDB: the provider sets, in the order of their absorption. Can be rebuilt from qdb.
CREATE TABLE qpsdb(
  psetid INTEGER NOT NULL,
  starttimeslot INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  PRIMARY KEY (psetid, starttimeslot)
) WITHOUT ROWID;

-- Sets taken from UNSes: what makes a set sent twice count once, and one cut off in the middle go on where it stopped.
CREATE TABLE absorbed(
  uns TEXT NOT NULL,
  entry TEXT NOT NULL,
  psetid INTEGER NOT NULL,
  rowsdone INTEGER NOT NULL,
  complete INTEGER NOT NULL,
  queued INTEGER NOT NULL DEFAULT 0,
  duplicate INTEGER NOT NULL DEFAULT 0,
  unchanged INTEGER NOT NULL DEFAULT 0,
  deleted INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (uns, entry)
) WITHOUT ROWID;

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
  saidmd5 TEXT, saidlen INTEGER, saidmtime TEXT,-- what the CP said when it was fetched, where it differs from the above
  etag TEXT, lastmodified TEXT,                 -- validators for conditional requests, as the server sent them
  verified INTEGER NOT NULL DEFAULT 1,          -- 0: a body that ended by close and could not be checked
  fetched_time INTEGER NOT NULL,
  fetched_machineid TEXT NOT NULL,
  fetched_fileid TEXT NOT NULL,
  psetid INTEGER NOT NULL,                      -- the last set that named it
  seq INTEGER NOT NULL,                         -- of its last change
  UNIQUE (pid, curl, mimetype)
);
CREATE UNIQUE INDEX lccurl_seq ON lccurl(seq);

-- Deletions, remembered for content users. id is the lccurl row's.
CREATE TABLE tombstone(
  seq INTEGER PRIMARY KEY,
  id INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  curl TEXT NOT NULL,
  mimetype TEXT NOT NULL,
  burl TEXT,
  deleted_time INTEGER NOT NULL
);

-- Files no row points to any more: written in the transaction that let go of them, removed when the machine's BM
-- has freed them (or the fsm spool has taken them over).
CREATE TABLE freed(
  fid INTEGER PRIMARY KEY AUTOINCREMENT,
  machineid TEXT NOT NULL,
  fileid TEXT NOT NULL
);
`;
