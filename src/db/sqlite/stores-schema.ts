/** A version of lcc.db of its own: which run of a machine's Bot Manager was here last, and when an audit looked twice. */
export const STORES_SCHEMA = `
-- How often its names had been opened, and a word of that run: a store that was opened less often, or as often by another run, is an
-- older copy. 0: it has not said.
ALTER TABLE store ADD COLUMN starts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN run TEXT NOT NULL DEFAULT '';
-- When what had changed was looked at once more.
ALTER TABLE audit ADD COLUMN second INTEGER;
`;
