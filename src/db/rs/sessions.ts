/** Logins by browser, of providers and of operators. rs.db has the SHA-256 of what a browser shows to be
 * known again. */
import { SqlStore } from '../sqlite/sql-store.js';

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

export class WebSessionStore extends SqlStore {
  readonly #endOf = this.sql.changes<[values: Account & { keep: number }]>(
    `DELETE FROM session WHERE id IN (SELECT id FROM session WHERE kind = $kind AND account = $account
       ORDER BY made_ms DESC, id LIMIT -1 OFFSET $keep)`,
  );

  // Inside a transaction

  readonly add = this.sql.run<[row: SessionRow]>(
    'INSERT INTO session VALUES ($id, $kind, $account, $mark, $madeMs, $seenMs)',
  );

  readonly seen = this.sql.run<[atMs: number, id: string]>('UPDATE session SET seen_ms = ? WHERE id = ?');

  /** @returns whether there was one */
  readonly end = this.sql.changed<[id: string]>('DELETE FROM session WHERE id = ?');

  /** Ends those of an account, but the newest. @param keep how many of these stay @returns how many ended */
  endOf({ kind, account }: Account, keep = 0): number {
    return this.#endOf({ kind, account, keep });
  }

  /** Ends what was seen last, or made, until then. */
  readonly prune = this.sql.run<[seenMs: number, madeMs: number]>(
    'DELETE FROM session WHERE seen_ms <= ? OR made_ms <= ?',
  );

  // Reading

  readonly find = this.sql.row<[id: string], SessionRow>(
    'SELECT id, kind, account, mark, made_ms AS madeMs, seen_ms AS seenMs FROM session WHERE id = ?',
  );
}
