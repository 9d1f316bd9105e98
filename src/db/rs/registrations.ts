/**
 * Registrations. The states of one, asserted here and by the WHERE of the statement that changes it:
 *
 *     issued ──▶ checking ──▶ proven ──▶ waiting ──▶ applying ──▶ active
 *       │ ▲         │            ╰───────────────────▶ │     (a rotation is not checked: issued ──▶ applying)
 *       │ ╰─────────╯                        │         ╰──▶ refused
 *       ├──▶ expired ◀───────────────────────┤
 *       ├──▶ refused                         │
 *       ╰──▶ cancelled            refused ◀──╯
 */
import { transitions, type StateOf } from '../../lib/states.js';
import type { RsTerms } from '../../wire/qm-rs.js';
import { SqlStore } from '../sqlite/sql-store.js';

const becomes = transitions('registration', {
  issued: ['checking', 'applying', 'refused', 'expired', 'cancelled'],
  checking: ['proven', 'issued'],
  proven: ['waiting', 'applying'],
  waiting: ['applying', 'refused', 'expired'],
  applying: ['active', 'refused'],
  active: [],
  refused: [],
  expired: [],
  cancelled: [],
});

export type RegistrationState = StateOf<typeof becomes>;

/** States that nothing leaves. */
const ENDS: readonly RegistrationState[] = ['active', 'refused', 'expired', 'cancelled'];

/** Directories that become, or are, a provider's by it; none of one that is over without. */
export function directoriesOf({
  kind,
  state,
  proven,
  prefix,
}: Pick<Registration, 'kind' | 'state' | 'proven' | 'prefix'>): readonly string[] {
  if (kind !== 'new' && kind !== 'root') return [];
  if (state !== 'active' && ENDS.includes(state)) return [];
  return proven.length > 0 ? proven : [prefix];
}

/** Why a proof failed, or a registration was refused. */
export interface RegistrationReason {
  /** A word for programs. */
  code: string;
  /** The fault, and what to do, for people. */
  what: string;
  do: string;
}

/** Wishes of the applicant, within what is allowed. */
export interface Wishes extends Pick<RsTerms, 'bandwidth'> {
  /** 24 or 168 characters 0/1, in the time of `zone`; undefined: always. */
  hours?: string;
  /** As IANA names it; undefined: that of the LCC. */
  zone?: string;
}

/** Purpose of a pair: a provider; another root of one; another password for one that has forgotten it (the
 * file has to be in its roots), or that has it and wants to replace it (nothing is proven). */
export type PairKind = 'new' | 'root' | 'reset' | 'rotation';

/** Fields that a pair begins with. */
interface NewRegistration {
  kind: PairKind;
  capability: string;
  prefix: string;
  host: string;
  file: string;
  secret: string;
  password: string | null;
  /** rotation, reset: the password that is replaced; null: not known yet. */
  generation: number | null;
  wishes: Wishes;
  network: string;
}

export interface Registration extends Omit<NewRegistration, 'secret' | 'password' | 'capability'> {
  id: number;
  state: RegistrationState;
  pid: number;
  /** Undefined when it is over. */
  secret: string | undefined;
  password: string | undefined;
  tries: number;
  /** Milliseconds since 1970, those of the last hour. */
  triedMs: readonly number[];
  reason: RegistrationReason | undefined;
  /** Prefixes; of a reset the roots that stay. */
  proven: readonly string[];
  madeMs: number;
  changedMs: number;
  endsMs: number | undefined;
}

/** Changes of a transition besides the state; left out: stays. */
interface RegistrationChanges {
  reason?: RegistrationReason | null;
  proven?: readonly string[];
  generation?: number;
  endsMs?: number | null;
}

/** Fields that are no single value are JSON; those that are not there are null. */
interface Row extends Omit<Registration, 'secret' | 'password' | 'endsMs' | JsonField> {
  secret: string | null;
  password: string | null;
  endsMs: number | null;
  wishes: string;
  triedMs: string;
  reason: string | null;
  proven: string;
}
type JsonField = 'wishes' | 'triedMs' | 'reason' | 'proven';

/** Values of a statement, by name. */
type Values = Record<string, string | number | null>;

const HOUR_MS = 3_600_000;
const OPEN = `state IN ('issued', 'checking') AND kind <> 'rotation'`;
const OPEN_AT_HOST = `${OPEN} AND kind <> 'reset'`;
const SELECT = `SELECT id, kind, state, generation, pid, prefix, host, file, secret, password, wishes, network, tries,
    tried_ms AS triedMs, reason, proven, made_ms AS madeMs, changed_ms AS changedMs, ends_ms AS endsMs FROM registration`;

export class RegistrationStore extends SqlStore {
  readonly #openOf = this.sql.number<[values: { host: string; network: string | null }]>(
    `SELECT count(*) FROM registration WHERE host = $host AND network = coalesce($network, network) AND ${OPEN_AT_HOST}`,
  );
  readonly #lastPid = this.sql.number("SELECT value FROM counter WHERE name = 'pid'");
  readonly #setPid = this.sql.run<[pid: number]>("UPDATE counter SET value = ? WHERE name = 'pid'");
  readonly #insert = this.sql.insert<[row: Values]>(
    `INSERT INTO registration(kind, generation, capability, state, pid, prefix, host, file, secret, password, wishes, network, made_ms,
       changed_ms, ends_ms)
     VALUES ($kind, $generation, $capability, 'issued', $pid, $prefix, $host, $file, $secret, $password, $wishes, $network, $nowMs, $nowMs,
       $endsMs)`,
  );
  readonly #move = this.sql.changed<[row: Values]>(
    `UPDATE registration SET state = $to, changed_ms = $nowMs, ends_ms = $endsMs,
       reason = iif($hasReason, $reason, reason), proven = coalesce($proven, proven),
       generation = coalesce($generation, generation),
       secret = iif($isEnd, NULL, secret), password = iif($isEnd, NULL, password)
     WHERE id = $id AND state = $from`,
  );
  readonly #tried = this.sql.run<[triedMs: string, id: number]>(
    'UPDATE registration SET tries = tries + 1, tried_ms = ? WHERE id = ?',
  );
  readonly #inState = this.sql.rows<[states: string, limit: number], Row>(
    `${SELECT} WHERE state IN (SELECT value FROM json_each(?)) ORDER BY id DESC LIMIT ?`,
  );
  readonly #firstEnd = this.sql.value<[values: { host: string | null }], number>(
    `SELECT min(ends_ms) FROM registration WHERE ${OPEN} AND host = coalesce($host, host)`,
  );

  // Inside a transaction

  /** The next number, which is given once. @param first the lowest there is */
  nextPid(first: number): number {
    const pid = Math.max(first, this.#lastPid() + 1);
    this.#setPid(pid);
    return pid;
  }

  /** A pair is issued. @returns its id */
  issue(pair: NewRegistration, pid: number, nowMs: number, endsMs: number): number {
    return this.#insert({ ...pair, wishes: JSON.stringify(pair.wishes), pid, nowMs, endsMs });
  }

  /**
   * One transition. What ends forgets its hashes.
   * @returns whether it was in the state `from`
   */
  move(
    id: number,
    from: RegistrationState,
    to: RegistrationState,
    nowMs: number,
    { reason, proven, generation, endsMs = null }: RegistrationChanges = {},
  ): boolean {
    return this.#move({
      id,
      from,
      to: becomes(from, to, id),
      hasReason: reason === undefined ? 0 : 1,
      reason: reason == null ? null : JSON.stringify(reason),
      proven: proven === undefined ? null : JSON.stringify(proven),
      generation: generation ?? null,
      endsMs,
      nowMs,
      isEnd: ENDS.includes(to) ? 1 : 0,
    });
  }

  /** A try to prove it begins. */
  tried({ id, triedMs }: Registration, nowMs: number): void {
    const recent = [...triedMs.filter(ms => ms > nowMs - HOUR_MS), nowMs];
    this.#tried(JSON.stringify(recent), id);
  }

  /** The number of the pair was taken: it is being applied for under another one. */
  readonly renumber = this.sql.run<[pid: number, id: number]>(
    "UPDATE registration SET pid = ? WHERE id = ? AND state = 'applying'",
  );

  /** Forgets what ended before. @returns how many */
  readonly forget = this.sql.changes<[beforeMs: number]>(
    "DELETE FROM registration WHERE state IN ('active', 'refused', 'expired', 'cancelled') AND changed_ms < ?",
  );

  // Reading

  readonly get = this.sql.row<[id: number], Row, Registration>(`${SELECT} WHERE id = ?`, readRow);

  /** @param capability its hash */
  readonly find = this.sql.row<[capability: string], Row, Registration>(
    `${SELECT} WHERE capability = ?`,
    readRow,
  );

  /** The newest first. */
  inStates(states: readonly RegistrationState[], limit: number): Registration[] {
    return this.#inState(JSON.stringify(states), limit).map(readRow);
  }

  /** Pairs of a provider, the newest first, at most 100. */
  readonly ofPid = this.sql.rows<[pid: number], Row, Registration>(
    `${SELECT} WHERE pid = ? ORDER BY id DESC LIMIT 100`,
    readRow,
  );

  /** Those whose state is over by itself. */
  readonly due = this.sql.rows<[nowMs: number, limit: number], Row, Registration>(
    `${SELECT} WHERE state IN ('issued', 'waiting') AND ends_ms <= ? ORDER BY id LIMIT ?`,
    readRow,
  );

  /** Pairs that are neither proven nor over: in all, and of a host. */
  readonly open = this.sql.number(`SELECT count(*) FROM registration WHERE ${OPEN}`);

  /** Open pairs of a host, resets left out, for a password that was forgotten is no new site; of all networks
   * or of one. */
  openOf(host: string, network: string | null = null): number {
    return this.#openOf({ host, network });
  }

  /** The network with the most pairs of a host that nobody checks just now: how many, and which one goes
   * first. */
  readonly busiestOf = this.sql.row<[host: string], { network: string; pairs: number }>(
    `SELECT network, count(*) AS pairs FROM registration WHERE host = ? AND ${OPEN_AT_HOST} AND state = 'issued'
     GROUP BY network ORDER BY pairs DESC, min(id) LIMIT 1`,
  );

  /** Those that nobody has checked first, then the oldest. */
  readonly leastOf = this.sql.row<[host: string, network: string], Row, Registration>(
    `${SELECT} WHERE host = ? AND network = ? AND ${OPEN_AT_HOST} AND state = 'issued' ORDER BY tries > 0, id LIMIT 1`,
    readRow,
  );

  /** When that is over of which the state ends first, of pairs that are open, of a host or of all. */
  firstEndOf(host: string | null = null): number | undefined {
    return this.#firstEnd({ host });
  }

  /** Roots that a provider wants besides, and has not: the newest first, at most 20. */
  readonly moreRootsOf = this.sql.rows<[pid: number], Row, Registration>(
    `${SELECT} WHERE pid = ? AND kind = 'root' AND state NOT IN ('active', 'cancelled') ORDER BY id DESC LIMIT 20`,
    readRow,
  );

  readonly count = this.sql.number<[state: RegistrationState]>(
    'SELECT count(*) FROM registration WHERE state = ?',
  );
}

function readRow({ secret, password, reason, endsMs, ...row }: Row): Registration {
  return {
    ...row,
    secret: secret ?? undefined,
    password: password ?? undefined,
    wishes: JSON.parse(row.wishes) as Wishes,
    triedMs: JSON.parse(row.triedMs) as number[],
    reason: reason === null ? undefined : (JSON.parse(reason) as RegistrationReason),
    proven: JSON.parse(row.proven) as string[],
    endsMs: endsMs ?? undefined,
  };
}
