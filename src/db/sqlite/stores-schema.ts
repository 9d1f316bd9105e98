/** A version of lcc.db of its own: which run of a machine's Bot Manager was here last, when an audit looked
 * twice, roots given up. */
export const STORES_SCHEMA = `
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
`;
