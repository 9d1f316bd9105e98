/** Logins by browser, of providers and of operators. rs.db has the SHA-256 of what a browser shows to be known again. */
import type { Db } from '../../lib/sqlite.js';

export const SESSION_SCHEMA = `
CREATE TABLE session(
  id TEXT PRIMARY KEY,                          -- sha256, hex, of the token in the cookie
  kind TEXT NOT NULL,                           -- provider, operator
  account TEXT NOT NULL,                        -- number of the provider, name of the operator
  mark TEXT NOT NULL,                           -- of the password: its generation, or a hash
  made_ms INTEGER NOT NULL,
  seen_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_account ON session(kind, account, made_ms);
CREATE INDEX session_seen ON session(seen_ms);
`;

export type SessionKind = 'provider' | 'operator';

export interface SessionRow {
  id: string;
  kind: SessionKind;
  /** Number of a provider, name of an operator. */
  account: string;
  /** Another one for each password: the generation of a provider's, a hash for an operator's. */
  mark: string;
  madeMs: number;
  seenMs: number;
}

type Account = Pick<SessionRow, 'kind' | 'account'>;

export class WebSessionStore {
  readonly #statements;

  constructor(db: Db) {
    this.#statements = {
      add: db.prepare<SessionRow>(
        'INSERT INTO session VALUES ($id, $kind, $account, $mark, $madeMs, $seenMs)',
      ),
      find: db.prepare<[string], SessionRow>(
        'SELECT id, kind, account, mark, made_ms AS madeMs, seen_ms AS seenMs FROM session WHERE id = ?',
      ),
      seen: db.prepare<[number, string]>('UPDATE session SET seen_ms = ? WHERE id = ?'),
      end: db.prepare<[string]>('DELETE FROM session WHERE id = ?'),
      endOf: db.prepare<Account & { keep: number }>(
        `DELETE FROM session WHERE id IN (SELECT id FROM session WHERE kind = $kind AND account = $account
           ORDER BY made_ms DESC, id LIMIT -1 OFFSET $keep)`,
      ),
      prune: db.prepare<[number, number]>('DELETE FROM session WHERE seen_ms <= ? OR made_ms <= ?'),
      count: db.prepare<[], number>('SELECT count(*) FROM session').pluck(),
    };
  }

  // Inside a transaction

  add(row: SessionRow): void {
    this.#statements.add.run(row);
  }

  seen(id: string, atMs: number): void {
    this.#statements.seen.run(atMs, id);
  }

  /** @returns whether there was one */
  end(id: string): boolean {
    return this.#statements.end.run(id).changes > 0;
  }

  /** Ends those of an account, but the newest. @param keep how many of these stay @returns how many ended */
  endOf({ kind, account }: Account, keep = 0): number {
    return this.#statements.endOf.run({ kind, account, keep }).changes;
  }

  /** Ends what was seen last, or made, until then. */
  prune(seenMs: number, madeMs: number): void {
    this.#statements.prune.run(seenMs, madeMs);
  }

  // Reading

  find(id: string): SessionRow | undefined {
    return this.#statements.find.get(id);
  }

  get count(): number {
    return this.#statements.count.get() ?? 0;
  }
}
