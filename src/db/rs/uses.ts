/** Uses of late, for the limits of registration: rows of a kind and a key. */
import { SqlStore } from '../sqlite/sql-store.js';

export const USES_SCHEMA = `
CREATE TABLE used(
  kind TEXT NOT NULL,                           -- of rs/limits.ts
  key TEXT NOT NULL,                            -- a network, a provider, sha256 of a mailbox; '' = all
  at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX used_times ON used(kind, key, at_ms);
CREATE INDEX used_at ON used(at_ms);
DROP TABLE mail_count;
DROP INDEX forgotten_network;
DROP INDEX registration_network;
`;

export class UseStore extends SqlStore {
  /** Inside a transaction. */
  readonly add = this.sql.run<[kind: string, key: string, nowMs: number]>(
    'INSERT INTO used(kind, key, at_ms) VALUES (?, ?, ?)',
  );

  /** When it was done, the newest first. A time of the future is of a clock that was ahead, and does not
   * count. */
  readonly times = this.sql.values<
    [kind: string, key: string, afterMs: number, nowMs: number, limit: number],
    number
  >(
    'SELECT at_ms FROM used WHERE kind = ? AND key = ? AND at_ms > ? AND at_ms <= ? ORDER BY at_ms DESC LIMIT ?',
  );

  /** Forgets what was until then. */
  readonly forget = this.sql.run<[untilMs: number]>('DELETE FROM used WHERE at_ms <= ?');
}
