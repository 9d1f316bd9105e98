/** Providers that registered here, as the Queue Manager has confirmed them. */
import { SqlStore } from '../sqlite/sql-store.js';

export const REGISTERED_SCHEMA = `
CREATE TABLE registered(
  pid INTEGER PRIMARY KEY,
  registration INTEGER NOT NULL,
  prefix TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  hours TEXT,                                   -- in which it permits to be fetched from, in its zone; NULL = always
  zone TEXT,                                    -- NULL = that of the LCC
  timeofday TEXT,                               -- those hours as the Queue Manager was told them last
  leaves_ms INTEGER                             -- it leaves: until then it can come back; NULL = it stays
) STRICT;
`;

/** A provider that registered here. */
export interface RegisteredProvider {
  pid: number;
  registration: number;
  prefix: string;
  sinceMs: number;
  /** Permitted hours, and those of them that the Queue Manager was told last; null: always. */
  hours: string | null;
  zone: string | null;
  timeofday: string | null;
  /** Time at which a provider that leaves is gone: until then it can come back; null: it stays. */
  leavesMs: number | null;
}

const SELECT = `SELECT pid, registration, prefix, since_ms AS sinceMs, hours, zone, timeofday, leaves_ms AS leavesMs
  FROM registered`;

export class RsProviderStore extends SqlStore {
  // Inside a transaction

  readonly put = this.sql.run<[provider: RegisteredProvider]>(
    `INSERT OR REPLACE INTO registered
     VALUES ($pid, $registration, $prefix, $sinceMs, $hours, $zone, $timeofday, $leavesMs)`,
  );

  /** @param atMs until when it can come back; null: it stays */
  readonly leaves = this.sql.run<[atMs: number | null, pid: number]>(
    'UPDATE registered SET leaves_ms = ? WHERE pid = ?',
  );

  /** Those that have left by then are gone. */
  readonly forgetLeft = this.sql.run<[nowMs: number]>('DELETE FROM registered WHERE leaves_ms <= ?');

  // Reading

  /** Those that have left by then. */
  readonly left = this.sql.values<[nowMs: number], number>('SELECT pid FROM registered WHERE leaves_ms <= ?');

  readonly get = this.sql.row<[pid: number], RegisteredProvider>(`${SELECT} WHERE pid = ?`);

  /** Those with hours in a zone of their own. */
  readonly zoned = this.sql.rows<[], RegisteredProvider>(
    `${SELECT} WHERE zone IS NOT NULL AND hours IS NOT NULL ORDER BY pid`,
  );

  /** Ascending. */
  readonly all = this.sql.rows<[], RegisteredProvider>(`${SELECT} ORDER BY pid`);

  readonly count = this.sql.number('SELECT count(*) FROM registered');
}
