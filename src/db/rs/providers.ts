/** Providers that registered here, as the Queue Manager has confirmed them. */
import type { Db } from '../../lib/sqlite.js';

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
  /** What it permits, and what of that the Queue Manager was told last; null: always. */
  hours: string | null;
  zone: string | null;
  timeofday: string | null;
  /** It leaves: until then it can come back; null: it stays. */
  leavesMs: number | null;
}

export class RsProviderStore {
  readonly #statements;

  constructor(db: Db) {
    const select = `SELECT pid, registration, prefix, since_ms AS sinceMs, hours, zone, timeofday, leaves_ms AS leavesMs
      FROM registered`;
    this.#statements = {
      put: db.prepare<RegisteredProvider>(
        `INSERT OR REPLACE INTO registered
         VALUES ($pid, $registration, $prefix, $sinceMs, $hours, $zone, $timeofday, $leavesMs)`,
      ),
      get: db.prepare<[number], RegisteredProvider>(`${select} WHERE pid = ?`),
      zoned: db.prepare<[], RegisteredProvider>(
        `${select} WHERE zone IS NOT NULL AND hours IS NOT NULL ORDER BY pid`,
      ),
      all: db.prepare<[], RegisteredProvider>(`${select} ORDER BY pid`),
      count: db.prepare<[], number>('SELECT count(*) FROM registered').pluck(),
      leaves: db.prepare<[number | null, number]>('UPDATE registered SET leaves_ms = ? WHERE pid = ?'),
      forget: db.prepare<[number]>('DELETE FROM registered WHERE leaves_ms <= ?'),
    };
  }

  // Inside a transaction

  put(provider: RegisteredProvider): void {
    this.#statements.put.run(provider);
  }

  /** @param atMs until when it can come back; null: it stays */
  leaves(pid: number, atMs: number | null): void {
    this.#statements.leaves.run(atMs, pid);
  }

  /** Those that have left by then are gone. */
  forgetLeft(nowMs: number): void {
    this.#statements.forget.run(nowMs);
  }

  // Reading

  get(pid: number): RegisteredProvider | undefined {
    return this.#statements.get.get(pid);
  }

  /** Those with hours in a zone of their own. */
  zoned(): RegisteredProvider[] {
    return this.#statements.zoned.all();
  }

  /** Ascending. */
  all(): RegisteredProvider[] {
    return this.#statements.all.all();
  }

  get count(): number {
    return this.#statements.count.get() ?? 0;
  }
}
