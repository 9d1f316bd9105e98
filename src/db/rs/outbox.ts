/** Operations for the Queue Manager, from the transaction that needs them to the one that has their answer. */
import { randomUUID } from 'node:crypto';
import type { Db } from '../../lib/sqlite.js';
import type { RsChange } from '../../wire/qm-rs.js';

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

export class OutboxStore {
  readonly #statements;

  constructor(db: Db) {
    this.#statements = {
      add: db.prepare<[string, number, number, string, number, 0 | 1]>(
        'INSERT INTO outbox(id, registration, pid, change, made_ms, quiet) VALUES (?, ?, ?, ?, ?, ?)',
      ),
      waiting: db.prepare<{ limit: number; held: string }, OutboxRow>(
        `SELECT id, registration, change, quiet FROM outbox WHERE pid NOT IN (SELECT value FROM json_each($held))
         ORDER BY seq LIMIT $limit`,
      ),
      of: db.prepare<[number], OutboxRow>(
        'SELECT id, registration, change, quiet FROM outbox WHERE registration = ? ORDER BY seq',
      ),
      waitsFor: db.prepare<[number], number>('SELECT EXISTS(SELECT 1 FROM outbox WHERE pid = ?)').pluck(),
      count: db.prepare<[], number>('SELECT count(*) FROM outbox').pluck(),
      remove: db.prepare<[string]>('DELETE FROM outbox WHERE id = ?'),
      removeOf: db.prepare<[number]>('DELETE FROM outbox WHERE registration = ?'),
    };
  }

  // Inside a transaction

  /** @param registration 0: it belongs to no registration @param isQuiet its provider does not hear of it @returns its id */
  add(registration: number, change: RsChange, nowMs: number, isQuiet = false): string {
    const id = randomUUID();
    this.#statements.add.run(id, registration, change.pid, JSON.stringify(change), nowMs, isQuiet ? 1 : 0);
    return id;
  }

  /** It has its answer. @returns whether it waited */
  remove(id: string): boolean {
    return this.#statements.remove.run(id).changes > 0;
  }

  removeOf(registration: number): void {
    this.#statements.removeOf.run(registration);
  }

  // Reading

  /** The oldest, in their order. @param held providers whose operations have to wait */
  waiting(limit: number, held: Iterable<number> = []): WaitingOperation[] {
    return this.#statements.waiting.all({ limit, held: JSON.stringify([...held]) }).map(operationOf);
  }

  /** Those of one registration, in their order. */
  of(registration: number): WaitingOperation[] {
    return this.#statements.of.all(registration).map(operationOf);
  }

  /** Whether anything of a provider waits. */
  waitsFor(pid: number): boolean {
    return this.#statements.waitsFor.get(pid) === 1;
  }

  get count(): number {
    return this.#statements.count.get() ?? 0;
  }
}

function operationOf({ change, quiet, ...row }: OutboxRow): WaitingOperation {
  return { ...row, change: JSON.parse(change) as RsChange, isQuiet: quiet === 1 };
}
