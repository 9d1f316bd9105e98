/** Version 2 of lcc.db, beside spidering-schema.ts: providers that leave, roots that are taken off, when sets
 * came, errors of a kind. */
export const DEPARTURE_SCHEMA = `
-- It leaves: when what it holds is removed; NULL = it stays. It is not enabled from then on; leaveenabled: whether it is again when
-- it stays after all.
ALTER TABLE pidb ADD COLUMN leaveat INTEGER;
ALTER TABLE pidb ADD COLUMN leaveenabled INTEGER NOT NULL DEFAULT 1;
-- 1: it is not enabled because an operator said so by way of the Registration Server, which may say the opposite.
ALTER TABLE pidb ADD COLUMN rsdisabled INTEGER NOT NULL DEFAULT 0;
-- Roots were taken off so often: what lies outside of the others is being removed; 0 = none, or all of that is removed.
ALTER TABLE pidb ADD COLUMN trimming INTEGER NOT NULL DEFAULT 0;
CREATE INDEX pidb_leaving ON pidb(pid) WHERE leaveat IS NOT NULL OR trimming > 0;

-- Of a set: when a UNS accepted it, and whether it was a full one.
ALTER TABLE absorbed ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE absorbed ADD COLUMN isfull INTEGER NOT NULL DEFAULT 0;
CREATE INDEX absorbed_pid ON absorbed(pid, psetid);

-- Errors of one code, for the provider's own page; and how many there are of each.
CREATE INDEX pierr_code ON pierr(pid, code, errseq);
`;
