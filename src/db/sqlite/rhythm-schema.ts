/** A version of lcc.db of its own: the interval at which the sets of a provider usually come. */
export const RHYTHM_SCHEMA = `
-- Seconds between two sets, as is usual (db/providers/silence.ts); 0 = not known yet.
ALTER TABLE pidb ADD COLUMN setevery REAL NOT NULL DEFAULT 0;
-- Since when that is watched, seconds; 0 = since the last set.
ALTER TABLE pidb ADD COLUMN setssince INTEGER NOT NULL DEFAULT 0;
`;
