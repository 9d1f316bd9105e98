/** Schema 6: what is needed to look at the first sets only, of millions. */
export const migration006 = `
-- The sets that may be fetched now, provider by provider, in their order.
CREATE INDEX qpsdb_now ON qpsdb(pid, psetid) WHERE starttimeslot = -1;
-- The parts that wait for a time slot are few among many.
CREATE INDEX qpsdb_later ON qpsdb(starttimeslot, psetid) WHERE starttimeslot >= 0;
-- The places of sets, one after the other.
CREATE INDEX qpsdb_places ON qpsdb(firstpos);
`;
