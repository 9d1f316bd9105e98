/** Version 3 of lcc.db: the last failure of each url. A released step is never edited: what comes later is a
 * step of its own. */
export const FAILURE_SCHEMA = `
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
`;
