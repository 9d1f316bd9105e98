/** Version 5 of lcc.db: pushes (docs/design/push.md). */
export const PUSH_SCHEMA = `
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
`;
