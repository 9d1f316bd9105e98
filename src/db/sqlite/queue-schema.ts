/** Version 8 of lcc.db: a waiting url is a folder, which is there once, and a name in it. Its text was there
 * twice, in its row and in the index that finds it: more than half of the queue (docs/design/speed.md). */

/** Columns of a waiting url besides those that say which it is. */
const REST = 'psetid, named, slot, tries, gen, op, flags, subtype, burl, furl, md5, len, mtime, tod, hops';

export const QUEUE_SCHEMA = `
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
`;
