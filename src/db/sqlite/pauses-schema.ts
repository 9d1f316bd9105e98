/** Part of version 2 of lcc.db: for how long origins are left alone by what nobody announced, and what an
 * audit saw first. Columns only. A released step is never edited: what comes later is a step of its own. */
export const PAUSES_SCHEMA = `
-- Times, one after the other, that the origin did not answer what nobody announced.
ALTER TABLE robots ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
-- Nothing that nobody announced is asked of it before.
ALTER TABLE robots ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
-- 1: it was gone when the audit looked first, not changed.
ALTER TABLE audit ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
`;
