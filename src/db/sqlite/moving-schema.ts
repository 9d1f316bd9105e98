/** A version of lcc.db of its own: providers that move between shards (lcc-cluster(7)). */
export const MOVING_SCHEMA = `
-- It leaves for another shard (out) or comes from one (in): nothing is fetched of it, no set of it is taken, and nothing that is held
-- of it changes. Those that leave take the login for their site along.
CREATE TABLE moving(
  pid INTEGER PRIMARY KEY,
  way TEXT NOT NULL CHECK (way IN ('out', 'in')),
  login TEXT
) STRICT;
`;
