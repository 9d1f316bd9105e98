/** Keys of IndexNow (docs/design/push.md): those whose file was seen, and those that are not decided, with
 * what came with them. A key that was found bad is not here. */
import { SqlStore } from '../sqlite/sql-store.js';

export const PUSH_KEYS_SCHEMA = `
CREATE TABLE push_key(
  id INTEGER PRIMARY KEY,
  host TEXT NOT NULL,                           -- with its port
  key TEXT NOT NULL,
  location TEXT NOT NULL,                       -- '' = in the root of the host
  since_ms INTEGER NOT NULL,                    -- when it was asked for first
  good_ms INTEGER,                              -- when its file was seen last; NULL = not decided
  due_ms INTEGER NOT NULL,                      -- not decided: when it is asked for again
  tries INTEGER NOT NULL DEFAULT 0,
  UNIQUE (host, key, location)
) STRICT;
CREATE INDEX push_key_due ON push_key(due_ms) WHERE good_ms IS NULL;

-- Urls that came with a key that is not decided.
CREATE TABLE push_pending(
  key INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  curl TEXT NOT NULL,
  PRIMARY KEY (key, pid, curl)
) STRICT, WITHOUT ROWID;
`;

/** A key as a sender names it. */
export interface KeyName {
  /** With its port. */
  host: string;
  key: string;
  /** Url of its file; '': in the root of the host. */
  location: string;
}

export interface StoredKey extends KeyName {
  id: number;
  sinceMs: number;
  /** Null: not decided. */
  goodMs: number | null;
  tries: number;
}

const SELECT = 'SELECT id, host, key, location, since_ms AS sinceMs, good_ms AS goodMs, tries FROM push_key';

export class PushKeyStore extends SqlStore {
  readonly #good = this.sql.run<[values: KeyName & { nowMs: number }]>(
    `INSERT INTO push_key(host, key, location, since_ms, good_ms, due_ms) VALUES ($host, $key, $location, $nowMs, $nowMs, 0)
     ON CONFLICT(host, key, location) DO UPDATE SET good_ms = $nowMs, tries = 0`,
  );
  readonly #undecided = this.sql.run<[values: KeyName & { nowMs: number; dueMs: number }]>(
    `INSERT INTO push_key(host, key, location, since_ms, due_ms) VALUES ($host, $key, $location, $nowMs, $dueMs)
     ON CONFLICT(host, key, location) DO UPDATE SET since_ms = iif(good_ms IS NULL, since_ms, $nowMs),
       due_ms = iif(good_ms IS NULL, due_ms, $dueMs), good_ms = NULL`,
  );
  readonly #hold = this.sql.run<[id: number, pid: number, curl: string]>(
    'INSERT OR IGNORE INTO push_pending(key, pid, curl) VALUES (?, ?, ?)',
  );
  readonly #delete = this.sql.run<[id: number]>('DELETE FROM push_key WHERE id = ?');
  readonly #deletePending = this.sql.run<[id: number]>('DELETE FROM push_pending WHERE key = ?');
  readonly #pending = this.sql.rows<[id: number], { pid: number; curl: string }>(
    'SELECT pid, curl FROM push_pending WHERE key = ? ORDER BY pid, curl',
  );

  // Inside a transaction

  /** The file of a key was seen. @returns what came with it and waited, by provider */
  good(name: KeyName, nowMs: number): Map<number, string[]> {
    this.#good({ ...name, nowMs });
    return this.#takePending(this.find(name)?.id ?? 0);
  }

  /** Urls of providers came with a key that is not decided. @param dueMs when it is asked for again */
  hold(name: KeyName, urls: ReadonlyMap<number, readonly string[]>, nowMs: number, dueMs: number): void {
    this.#undecided({ ...name, nowMs, dueMs });
    const id = this.find(name)?.id ?? 0;
    for (const [pid, curls] of urls) for (const curl of curls) this.#hold(id, pid, curl);
  }

  /** A key is bad, or was not decided for too long. @returns what came with it, by provider */
  drop(name: KeyName): Map<number, string[]> {
    const id = this.find(name)?.id;
    if (id === undefined) return new Map();
    this.#delete(id);
    return this.#takePending(id);
  }

  /** There was no answer once more. */
  readonly again = this.sql.run<[dueMs: number, id: number]>(
    'UPDATE push_key SET due_ms = ?, tries = tries + 1 WHERE id = ?',
  );

  /** Those whose file was not seen since. */
  readonly forget = this.sql.run<[goodMs: number]>('DELETE FROM push_key WHERE good_ms <= ?');

  #takePending(id: number): Map<number, string[]> {
    const taken = new Map<number, string[]>();
    for (const { pid, curl } of this.#pending(id)) {
      const there = taken.get(pid);
      if (there === undefined) taken.set(pid, [curl]);
      else there.push(curl);
    }
    this.#deletePending(id);
    return taken;
  }

  // Reading

  readonly find = this.sql.row<[name: KeyName], StoredKey>(
    `${SELECT} WHERE host = $host AND key = $key AND location = $location`,
  );

  /** Urls of a provider that came with keys that are not decided. */
  readonly pendingOf = this.sql.number<[pid: number]>(
    // Begins with the keys, for they are few.
    `SELECT count(*) FROM push_key CROSS JOIN push_pending ON push_pending.key = push_key.id AND pid = ?
     WHERE good_ms IS NULL`,
  );

  /** Those not decided that are to be asked for again, the first ones first. */
  readonly due = this.sql.rows<[nowMs: number, limit: number], StoredKey>(
    `${SELECT} WHERE good_ms IS NULL AND due_ms <= ? ORDER BY due_ms LIMIT ?`,
  );
}
