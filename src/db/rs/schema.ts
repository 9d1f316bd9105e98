/** The schema of rs.db, the database of registration. Times are milliseconds since 1970. No secret stands in
 * it: of secrets, passwords and capabilities it has hashes. */
export const RS_SCHEMA = `
-- pid: the number given last; never taken back.
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO counter VALUES ('pid', 0);

-- Pairs, and what became of them (docs/design/registration.md). Rows of those that are over go after 30 days.
CREATE TABLE registration(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,                           -- new, root, reset, rotation
  capability TEXT NOT NULL UNIQUE,              -- sha256, hex: who has the original may see and use the pair
  state TEXT NOT NULL,
  pid INTEGER NOT NULL,
  prefix TEXT NOT NULL,                         -- the directory of the file, a url that ends with a slash
  host TEXT NOT NULL,
  file TEXT NOT NULL,                           -- its name
  secret TEXT,                                  -- sha256, hex; NULL when it is over
  password TEXT,                                -- sha256:SALT:HASH; NULL when it is over, and of a root
  generation INTEGER,                           -- rotation, reset: the password that it replaces; NULL = not known yet
  wishes TEXT NOT NULL,                         -- JSON: bandwidth, hours, zone
  network TEXT NOT NULL,                        -- of the applicant: /24 or /48
  tries INTEGER NOT NULL DEFAULT 0,
  tried_ms TEXT NOT NULL DEFAULT '[]',          -- JSON: when, within the last hour
  reason TEXT,                                  -- why the last try failed, or it was refused; JSON
  proven TEXT NOT NULL DEFAULT '[]',            -- JSON: prefixes
  made_ms INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL,                  -- when it came into its state
  ends_ms INTEGER                               -- when its state is over by itself
) STRICT;
CREATE INDEX registration_state ON registration(state, ends_ms);
CREATE INDEX registration_network ON registration(network, made_ms);
CREATE INDEX registration_pid ON registration(pid, made_ms);
CREATE INDEX registration_host ON registration(host, state);

-- Operations that the Queue Manager has not answered.
CREATE TABLE outbox(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,                      -- a UUID, under which it is sent again and again
  registration INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  change TEXT NOT NULL,                         -- JSON, as wire/qm-rs.ts has it
  made_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE audit(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  event TEXT NOT NULL,
  registration INTEGER,
  pid INTEGER,
  by TEXT NOT NULL,                             -- applicant, provider, operator, qm, rs
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX audit_at ON audit(at_ms);
`;

/** Version 2: operations of which their provider does not hear. */
export const QUIET_SCHEMA = `
ALTER TABLE outbox ADD COLUMN quiet INTEGER NOT NULL DEFAULT 0;
`;
