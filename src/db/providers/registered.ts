/**
 * Providers that registered by themselves (`pidb.origin` is `rs`), and the operations of the Registration Server that the Queue
 * Manager has answered. Called inside of its transactions.
 */
import type { Db } from '../sqlite/open.js';
import {
  addProvider,
  addRoots,
  changePassword,
  changeProvider,
  readErrorCodes,
  readProvider,
  type Provider,
  type ProviderTerms,
} from './pidb.js';

export interface AnsweredOperation {
  digest: string;
  /** JSON. */
  answer: string;
}

/** What is kept of an operation. */
export interface OperationRow extends AnsweredOperation {
  id: string;
  op: string;
  pid: number;
  atS: number;
}

/** What may be said of a provider: all of it but its secrets. */
export interface ShownProvider extends Omit<Provider, 'password'> {
  origin: 'operator' | 'rs';
  /** Of its password. */
  generation: number;
  errors: { code: number; errors: number }[];
}

export class RegisteredStore {
  readonly #db: Db;
  readonly #statements;

  constructor(db: Db) {
    this.#db = db;
    this.#statements = {
      answered: db.prepare<[string], AnsweredOperation>('SELECT digest, answer FROM rsop WHERE id = ?'),
      note: db.prepare<OperationRow>('INSERT INTO rsop VALUES ($id, $op, $pid, $digest, $answer, $atS)'),
      prune: db.prepare<[number]>('DELETE FROM rsop WHERE at < ?'),
      since: db.prepare<[number], number>('SELECT count(*) FROM rsop WHERE at > ?').pluck(),
      registeredSince: db
        .prepare<[number], number>("SELECT count(*) FROM rsop WHERE at > ? AND op = 'register'")
        .pluck(),
      origin: db.prepare<[number], Pick<ShownProvider, 'origin' | 'generation'>>(
        'SELECT origin, generation FROM pidb WHERE pid = ?',
      ),
      wasUsed: db
        .prepare<{ pid: number }, number>(
          `SELECT EXISTS(SELECT 1 FROM pidb WHERE pid = $pid) OR EXISTS(SELECT 1 FROM lccurl WHERE pid = $pid)
             OR EXISTS(SELECT 1 FROM rsop WHERE pid = $pid AND op = 'register' AND answer LIKE '{"ok"%')`,
        )
        .pluck(),
      adopt: db.prepare<[number]>("UPDATE pidb SET origin = 'rs' WHERE pid = ?"),
      sharers: db
        .prepare<[string, number], number>(
          "SELECT count(*) FROM proots JOIN pidb USING (pid) WHERE root = ? AND pid <> ? AND origin = 'rs'",
        )
        .pluck(),
      around: db
        .prepare<[string], number>(
          'SELECT DISTINCT pid FROM proots WHERE root IN (SELECT value FROM json_each(?)) ORDER BY pid',
        )
        .pluck(),
      count: db.prepare<[], number>("SELECT count(*) FROM pidb WHERE origin = 'rs'").pluck(),
    };
  }

  /** What an operation of this id was answered; undefined: it is new. */
  answered(id: string): AnsweredOperation | undefined {
    return this.#statements.answered.get(id);
  }

  note(operation: OperationRow): void {
    this.#statements.note.run(operation);
  }

  /** Forgets operations of before. @returns how many */
  prune(beforeS: number): number {
    return this.#statements.prune.run(beforeS).changes;
  }

  /** Operations answered since, and how many of them were registrations. */
  since(s: number): { all: number; registrations: number } {
    return {
      all: this.#statements.since.get(s) ?? 0,
      registrations: this.#statements.registeredSince.get(s) ?? 0,
    };
  }

  /** Providers that registered by themselves. */
  get count(): number {
    return this.#statements.count.get() ?? 0;
  }

  /** Origin and generation of a provider; undefined when there is none. */
  standing(pid: number): Pick<ShownProvider, 'origin' | 'generation'> | undefined {
    return this.#statements.origin.get(pid);
  }

  /** Whether the number is, or was, somebody's, for all that is known. */
  wasUsed(pid: number): boolean {
    return this.#statements.wasUsed.get({ pid }) === 1;
  }

  /** How many providers of this origin besides this one have exactly this root. */
  sharersOf(root: string, pid: number): number {
    return this.#statements.sharers.get(root, pid) ?? 0;
  }

  add(pid: number, password: string, terms: Partial<ProviderTerms>, roots: readonly string[]): void {
    addProvider(this.#db, pid, password, terms, roots);
    this.#statements.adopt.run(pid);
  }

  changePassword(pid: number, password: string): void {
    changePassword(this.#db, pid, password);
  }

  changeTerms(pid: number, terms: Partial<ProviderTerms>): void {
    changeProvider(this.#db, pid, terms);
  }

  addRoots(pid: number, roots: readonly string[]): void {
    addRoots(this.#db, pid, roots);
  }

  rootsOf(pid: number): readonly string[] {
    return readProvider(this.#db, pid)?.roots ?? [];
  }

  /** Providers of any origin with one of these roots, ascending. */
  withRoots(roots: readonly string[]): number[] {
    return this.#statements.around.all(JSON.stringify(roots));
  }

  /** Undefined when there is no such provider. */
  show(pid: number): ShownProvider | undefined {
    const provider = readProvider(this.#db, pid);
    const standing = this.standing(pid);
    if (provider === undefined || standing === undefined) return undefined;
    const { password: _secret, ...rest } = provider;
    return { ...rest, ...standing, errors: readErrorCodes(this.#db, pid) };
  }
}

/** Numbers of the providers that registered by themselves, ascending. */
export function readRegisteredPids(db: Db): number[] {
  return db.prepare<[], number>("SELECT pid FROM pidb WHERE origin = 'rs' ORDER BY pid").pluck().all();
}
