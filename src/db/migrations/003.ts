/**
 * Schema 3: how a provider's site is to be asked, what a machine may lose when it stops uncleanly, and what indexes that
 * know pages by URL or by path must be told.
 */
export const migration003 = `
-- Limits of one fetch, where they are tighter than the robot's own, and who the robot says it is; NULL = as configured.
ALTER TABLE pidb ADD COLUMN maxlen INTEGER;         -- bytes, decoded
ALTER TABLE pidb ADD COLUMN fetchtimeout INTEGER;   -- milliseconds
ALTER TABLE pidb ADD COLUMN useragent TEXT;

-- What a site that asks for a user and a password (RFC 7617) gets: user:password, as it is. Apart from pidb, so that
-- nobody comes across it who reads providers.
CREATE TABLE sitelogin(
  pid INTEGER PRIMARY KEY REFERENCES pidb ON DELETE CASCADE,
  login TEXT NOT NULL
);

-- 1: only the browse URL is gone, for the row got another. The record stands before the row's in the change sequence,
-- and is remembered as long as any other deletion.
ALTER TABLE tombstone ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;
-- When what content users see of the row was changed, where that was after its fetch.
ALTER TABLE lccurl ADD COLUMN changed_time INTEGER;
-- Who else is shown under a browse URL. Few providers give one; a row without is found by its curl.
CREATE INDEX lccurl_burl ON lccurl(burl) WHERE burl IS NOT NULL;
CREATE INDEX tombstone_burl ON tombstone(coalesce(burl, curl), seq);
-- Whose content a store path is (lccq-resolve).
CREATE INDEX lccurl_file ON lccurl(fetched_fileid);

-- Files that rows no longer point to, by the change that let go of them, for indexes that know pages by path; remembered
-- as long as deletions. pid and mimetype are those of the row.
CREATE TABLE oldpath(
  seq INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL,
  mimetype TEXT NOT NULL,
  machineid TEXT NOT NULL,
  fileid TEXT NOT NULL,
  left_time INTEGER NOT NULL
);

-- Sync points: content of the machine whose rows have numbers of the change sequence up to this one is on its disk. What
-- was stored by an older LCC counts as such.
ALTER TABLE store ADD COLUMN syncedseq INTEGER NOT NULL DEFAULT 0;
UPDATE store SET syncedseq = (SELECT value FROM counter WHERE name = 'seq');
`;
