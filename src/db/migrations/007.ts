/** Schema 7: what is needed to put back a provider's parts of sets a few at a time, however many wait for a slot. */
export const migration007 = `
DROP INDEX qpsdb_later;
-- The parts that wait for a time slot: slot by slot, provider by provider, in their order.
CREATE INDEX qpsdb_later ON qpsdb(starttimeslot, pid, psetid) WHERE starttimeslot >= 0;
`;
