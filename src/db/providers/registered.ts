/** Providers that registered by themselves (`pidb.origin` is `rs`), and the operations of the Registration
 * Server that the Queue Manager has answered. Called inside of its transactions. */
import type { Db } from '../sqlite/open.js';
import { RS_CONTROLS } from '../../wire/qm-rs.js';
import { MAX_SETS_SHOWN, type TakenSet } from '../../wire/rs-looks.js';
import { Sql, SqlStore } from '../sqlite/sql-store.js';
import { PushDays, type ShownPushes } from '../truth/pushes.js';
import { TruthReader } from '../truth/reader.js';
import { shownTruth, type ShownTruth } from '../truth/shown.js';
import {
  addProvider,
  addRoots,
  changePassword,
  changeProvider,
  readErrorCodes,
  readProvider,
  removeRoots,
  type Provider,
  type ProviderTerms,
} from './pidb.js';
import { GivenRoots, type GivenRoot } from './given-roots.js';
import { takenSetsIn } from './listing.js';

interface AnsweredOperation {
  digest: string;
  /** JSON. */
  answer: string;
}

/** The stored form of an operation. */
interface OperationRow extends AnsweredOperation {
  id: string;
  op: string;
  pid: number;
  atS: number;
}

/** Fields that decide on what may be done with a provider. */
export interface Standing {
  origin: 'operator' | 'rs';
  /** Generation of its password. */
  generation: number;
  enabled: 0 | 1;
  /** Time at which the content of a provider that leaves is removed, seconds; null = it stays. */
  leaveat: number | null;
  /** 1: it has left, and there is nothing of it any more. */
  left: 0 | 1;
  /** 1: it was disabled by way of the Registration Server. */
  rsdisabled: 0 | 1;
}

/** The public fields of a provider: all but its secrets. */
export interface ShownProvider
  extends Omit<Provider, 'password'>, Pick<Standing, 'origin' | 'generation' | 'left'> {
  /** Errors that it has not received, by code. */
  errors: { code: number; errors: number }[];
  /** The last ones, the newest first. */
  sets: TakenSet[];
  /** Given up by a reset of the password. */
  givenroots: GivenRoot[];
  /** Worth of its announcements. */
  truthfulness: ShownTruth | null;
  /** Worth of what others say of its pages. */
  pushes: ShownPushes;
}

/** Controls of operators, as SQL has a list. */
const CONTROLS = [...RS_CONTROLS, 'limits'].map(op => `'${op}'`).join(', ');

export class RegisteredStore extends SqlStore {
  readonly #since = this.sql.number<[s: number]>(
    `SELECT count(*) FROM rsop WHERE at > ? AND op NOT IN (${CONTROLS})`,
  );
  readonly #registeredSince = this.sql.number<[s: number]>(
    "SELECT count(*) FROM rsop WHERE at > ? AND op = 'register'",
  );
  readonly #wasUsed = this.sql.value<[values: { pid: number }], number>(
    `SELECT EXISTS(SELECT 1 FROM pidb WHERE pid = $pid) OR EXISTS(SELECT 1 FROM lccurl WHERE pid = $pid)
       OR EXISTS(SELECT 1 FROM rsop WHERE pid = $pid AND op = 'register' AND answer LIKE '{"ok"%')`,
  );
  readonly #leave = this.sql.run<[atS: number, pid: number]>(
    'UPDATE pidb SET leaveat = ?, leaveenabled = enabled, enabled = 0 WHERE pid = ?',
  );
  readonly #rsDisable = this.sql.run<[pid: number]>(
    'UPDATE pidb SET enabled = 0, rsdisabled = 1 WHERE pid = ?',
  );
  readonly #trim = this.sql.run<[pid: number]>('UPDATE pidb SET trimming = trimming + 1 WHERE pid = ?');
  readonly #sets = takenSetsIn(this.db);
  readonly #given = new GivenRoots(this.db);
  readonly #adopt = this.sql.run<[pid: number]>("UPDATE pidb SET origin = 'rs' WHERE pid = ?");
  readonly #around = this.sql.values<[roots: string], number>(
    'SELECT DISTINCT pid FROM proots WHERE root IN (SELECT value FROM json_each(?)) ORDER BY pid',
  );
  readonly #count = this.sql.number("SELECT count(*) FROM pidb WHERE origin = 'rs' AND password <> ''");
  readonly #truth = new TruthReader(this.db);
  readonly #pushes = new PushDays(this.db);

  /** The answer to an operation of this id; undefined: it is new. */
  readonly answered = this.sql.row<[id: string], AnsweredOperation>(
    'SELECT digest, answer FROM rsop WHERE id = ?',
  );

  readonly note = this.sql.run<[operation: OperationRow]>(
    'INSERT INTO rsop VALUES ($id, $op, $pid, $digest, $answer, $atS)',
  );

  /** Forgets operations of before. @returns how many */
  readonly prune = this.sql.changes<[beforeS: number]>('DELETE FROM rsop WHERE at < ?');

  /** Operations answered since, without those of operators; how many of them were registrations. */
  since(s: number): { all: number; registrations: number } {
    return { all: this.#since(s), registrations: this.#registeredSince(s) };
  }

  /** Those of operators. */
  readonly controlsSince = this.sql.number<[s: number]>(
    `SELECT count(*) FROM rsop WHERE at > ? AND op IN (${CONTROLS})`,
  );

  /** Providers that registered by themselves. */
  get count(): number {
    return this.#count();
  }

  /** Undefined when there is no such provider. */
  readonly standing = this.sql.row<[pid: number], Standing>(
    "SELECT origin, generation, enabled, leaveat, password = '' AS left, rsdisabled FROM pidb WHERE pid = ?",
  );

  /** True if the number is, or was, somebody's, for all that is known. */
  wasUsed(pid: number): boolean {
    return this.#wasUsed({ pid }) === 1;
  }

  /** How many providers of this origin besides this one have exactly this root. */
  readonly sharersOf = this.sql.number<[root: string, pid: number]>(
    "SELECT count(*) FROM proots JOIN pidb USING (pid) WHERE root = ? AND pid <> ? AND origin = 'rs'",
  );

  add(pid: number, password: string, terms: Partial<ProviderTerms>, roots: readonly string[]): void {
    addProvider(this.db, pid, password, terms, roots);
    this.#adopt(pid);
  }

  changePassword(pid: number, password: string): void {
    changePassword(this.db, pid, password);
  }

  changeTerms(pid: number, terms: Partial<ProviderTerms>): void {
    changeProvider(this.db, pid, terms);
  }

  addRoots(pid: number, roots: readonly string[]): void {
    addRoots(this.db, pid, roots);
  }

  /** Content outside of the other roots is removed (departures.ts). @throws LccError `usage` for a root that
   * it does not have */
  removeRoots(pid: number, roots: readonly string[]): void {
    if (roots.length === 0) return;
    removeRoots(this.db, pid, roots);
    this.#trim(pid);
  }

  /** They are its roots no more; what is held of them is removed at that time, unless they come back
   * (departures.ts). */
  giveUpRoots(pid: number, roots: readonly string[], atS: number): void {
    this.removeRoots(pid, roots);
    for (const root of roots) this.#given.add(pid, root, atS);
  }

  /** The provider is not enabled from now on; its content is removed at that time (departures.ts). */
  leave(pid: number, atS: number): void {
    this.#leave(atS, pid);
  }

  /** An operator of the Registration Server disables it, and may enable it again: if it was enabled, or they
   * disabled it. */
  disable(pid: number): void {
    const { enabled = 0, rsdisabled = 0 } = this.standing(pid) ?? {};
    changeProvider(this.db, pid, { enabled: false });
    if (enabled === 1 || rsdisabled === 1) this.#rsDisable(pid);
  }

  enable(pid: number): void {
    changeProvider(this.db, pid, { enabled: true });
  }

  /** The provider does not leave. */
  readonly stay = this.sql.run<[pid: number]>(
    'UPDATE pidb SET enabled = leaveenabled, leaveat = NULL WHERE pid = ?',
  );

  termsOf(pid: number): ProviderTerms | undefined {
    return readProvider(this.db, pid);
  }

  rootsOf(pid: number): readonly string[] {
    return readProvider(this.db, pid)?.roots ?? [];
  }

  /** Providers of any origin with one of these roots, ascending. */
  withRoots(roots: readonly string[]): number[] {
    return this.#around(JSON.stringify(roots));
  }

  /** Undefined when there is no such provider. */
  show(pid: number, nowS: number): ShownProvider | undefined {
    const provider = readProvider(this.db, pid);
    const standing = this.standing(pid);
    if (provider === undefined || standing === undefined) return undefined;
    const { password: _secret, ...rest } = provider;
    const { origin, generation, left } = standing;
    const sets = this.#sets(pid, MAX_SETS_SHOWN);
    const errors = readErrorCodes(this.db, pid);
    const [known] = this.#truth.read(nowS, pid);
    const truthfulness = known === undefined ? null : shownTruth(known, provider.fullsetsallowed);
    const givenroots = this.#given.of(pid);
    const pushes = this.#pushes.of(pid, nowS);
    return { ...rest, givenroots, origin, generation, left, errors, sets, truthfulness, pushes };
  }
}

/** Numbers of the providers that registered by themselves and have not left, ascending. */
export function readRegisteredPids(db: Db): number[] {
  const sql = "SELECT pid FROM pidb WHERE origin = 'rs' AND password <> '' ORDER BY pid";
  return new Sql(db).values<[], number>(sql)();
}
