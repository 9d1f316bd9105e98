/** The schema of store.db, what a store server knows of its documents. lcc-spider(5) describes it for other
 * programs, which read the view. Times are milliseconds since 1970. */
export const STORE_SCHEMA = `
-- A file of records: every one is whole, and they stand one after the other.
CREATE TABLE file(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  compressed INTEGER NOT NULL CHECK (compressed IN (0, 1)),
  bytes INTEGER NOT NULL,                       -- 0: not all of it can be read, and it stays
  live_bytes INTEGER NOT NULL                   -- of records that a row of doc refers to
) STRICT;
CREATE INDEX file_spare ON file(id) WHERE live_bytes * 2 < bytes;

CREATE TABLE doc(
  doc_id INTEGER PRIMARY KEY,
  -- The last record.
  url TEXT NOT NULL,
  new_url TEXT NOT NULL,
  success INTEGER NOT NULL CHECK (success IN (0, 1)),
  reason INTEGER NOT NULL,
  http INTEGER NOT NULL,
  ms INTEGER NOT NULL,
  at INTEGER NOT NULL,
  -- The document, which an earlier record may have brought; NULL: there is none.
  len INTEGER,
  md5 TEXT,
  is_good INTEGER NOT NULL CHECK (is_good IN (0, 1)),
  file INTEGER,                                 -- its id; NULL as well: it is empty
  pos INTEGER NOT NULL,                         -- of the record in the file
  bytes INTEGER NOT NULL                        -- of the record in the file
) STRICT;
CREATE INDEX doc_file ON doc(file) WHERE file IS NOT NULL;

CREATE VIEW document AS
  SELECT doc_id, url, new_url, success, reason, http, ms, at, len, md5, is_good,
    iif(file IS NULL, NULL, printf('docs/%06d/%09d.rec%s', file / 1000, file, iif(compressed, '.gz', ''))) AS path,
    pos, doc.bytes
  FROM doc LEFT JOIN file ON file.id = doc.file;
`;
