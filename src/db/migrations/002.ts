/**
 * Schema 2: what the Queue Manager must not forget about delays, hours, full sets and damage. Columns added to a table
 * are NULL or 0 for rows that were there before.
 */
export const migration002 = `
-- Bandwidth: no fetch from the provider begins before this time (milliseconds since 1970).
ALTER TABLE pidb ADD COLUMN dueat INTEGER NOT NULL DEFAULT 0;
-- The same for all providers together (qm.bandwidth_bytes_per_s).
INSERT INTO counter VALUES ('dueat', 0);
-- The mass-delete fuse of this provider; NULL = as configured (qm.fuse_percent, qm.fuse_urls).
ALTER TABLE pidb ADD COLUMN fusepercent INTEGER;
ALTER TABLE pidb ADD COLUMN fuseurls INTEGER;
-- When its CP last connected (seconds).
ALTER TABLE pidb ADD COLUMN lastconntime INTEGER NOT NULL DEFAULT 0;

-- When the set was absorbed (seconds): what lccstat tells the age of the queue by.
ALTER TABLE qpsdb ADD COLUMN absorbedat INTEGER NOT NULL DEFAULT 0;

-- Checksums of what matters in a row: SQLite's own check misses most single-bit damage. NULL = not known.
ALTER TABLE qdb ADD COLUMN sum INTEGER;
ALTER TABLE lccurl ADD COLUMN sum INTEGER;

-- UNSes remember up to which error a CP has received, in a database of their own. In one that replaces a lost or damaged
-- one the numbers must go on above: fewer errors than milliseconds have been since 1970.
DELETE FROM sqlite_sequence WHERE name = 'pierr';
INSERT INTO sqlite_sequence(name, seq) VALUES ('pierr', CAST(unixepoch('subsec') * 1000 AS INTEGER));

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
);
CREATE INDEX held_pid ON held(pid, psetid);
-- Urls of a partial set that are to be removed, when it is known that they may be.
CREATE TABLE helddelete(
  psetid INTEGER NOT NULL REFERENCES held ON DELETE CASCADE,
  curl TEXT NOT NULL,
  mimetype TEXT NOT NULL,
  PRIMARY KEY (psetid, curl, mimetype)
) WITHOUT ROWID;

-- How long ago a set was taken, in time the Queue Manager ran: a mark each hour, with the next set's id.
CREATE TABLE agemark(
  mark INTEGER PRIMARY KEY,
  psetid INTEGER NOT NULL,
  at INTEGER NOT NULL                           -- seconds
);

-- The store of each machine that rows point into: one made anew would give their names to other content.
CREATE TABLE store(
  machineid TEXT PRIMARY KEY,
  storeid TEXT NOT NULL
) WITHOUT ROWID;
`;
