/**
 * Operations for the Queue Manager, from the transaction that needs them to the one that has their answer.
 */
import { randomUUID } from 'node:crypto';
import type { RsChange } from '../../wire/qm-rs.js';
import { SqlStore } from '../sqlite/sql-store.js';

export interface WaitingOperation {
  id: string;
  registration: number;
  change: RsChange;
  /** Nobody asked for it: its provider does not hear of it. */
  isQuiet: boolean;
}

interface OutboxRow {
  id: string;
  registration: number;
  change: string;
  quiet: 0 | 1;
}

export class OutboxStore extends SqlStore {
  readonly #add = this.sql.run<
    [id: string, registration: number, pid: number, change: string, nowMs: number, quiet: 0 | 1]
  >('INSERT INTO outbox(id, registration, pid, change, made_ms, quiet) VALUES (?, ?, ?, ?, ?, ?)');
  readonly #waiting = this.sql.rows<[values: { limit: number; held: string }], OutboxRow>(
    `SELECT id, registration, change, quiet FROM outbox WHERE pid NOT IN (SELECT value FROM json_each($held))
     ORDER BY seq LIMIT $limit`,
  );

  // Inside a transaction

  /**
   * @param registration 0: it belongs to no registration @param isQuiet its provider does not hear of it
   * @returns its id
   */
  add(registration: number, change: RsChange, nowMs: number, isQuiet = false): string {
    const id = randomUUID();
    this.#add(id, registration, change.pid, JSON.stringify(change), nowMs, isQuiet ? 1 : 0);
    return id;
  }

  /** Removes an operation that has its answer. @returns whether it waited */
  readonly remove = this.sql.changed<[id: string]>('DELETE FROM outbox WHERE id = ?');

  readonly removeOf = this.sql.run<[registration: number]>('DELETE FROM outbox WHERE registration = ?');

  // Reading

  /** The oldest, in their order. @param held providers whose operations have to wait */
  waiting(limit: number, held: Iterable<number> = []): WaitingOperation[] {
    return this.#waiting({ limit, held: JSON.stringify([...held]) }).map(operationOf);
  }

  /** Those of one registration, in their order. */
  readonly of = this.sql.rows<[registration: number], OutboxRow, WaitingOperation>(
    'SELECT id, registration, change, quiet FROM outbox WHERE registration = ? ORDER BY seq',
    operationOf,
  );

  /** True if anything of a provider waits. */
  readonly waitsFor = this.sql.has<[pid: number]>('SELECT 1 FROM outbox WHERE pid = ? LIMIT 1');

  readonly count = this.sql.number('SELECT count(*) FROM outbox');
}

function operationOf({ change, quiet, ...row }: OutboxRow): WaitingOperation {
  return { ...row, change: JSON.parse(change) as RsChange, isQuiet: quiet === 1 };
}
