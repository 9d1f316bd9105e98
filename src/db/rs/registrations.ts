/**
 * Registrations. The states of one, asserted here and by the WHERE of the statement that changes it:
 *
 *     issued ──▶ checking ──▶ proven ──▶ waiting ──▶ applying ──▶ active
 *       │ ▲         │            ╰───────────────────▶ │          (of a rotation nothing is checked: issued ──▶ applying)
 *       │ ╰─────────╯                        │         ╰──▶ refused
 *       ├──▶ expired ◀───────────────────────┤
 *       ╰──▶ cancelled            refused ◀──╯
 */
import type { Db } from '../../lib/sqlite.js';
import { transitions } from '../../lib/states.js';
import type { RsTerms } from '../../wire/qm-rs.js';

export type RegistrationState =
  'issued' | 'checking' | 'proven' | 'waiting' | 'applying' | 'active' | 'refused' | 'expired' | 'cancelled';

const becomes = transitions<RegistrationState>('registration', {
  issued: ['checking', 'applying', 'expired', 'cancelled'],
  checking: ['proven', 'issued'],
  proven: ['waiting', 'applying'],
  waiting: ['applying', 'refused', 'expired'],
  applying: ['active', 'refused'],
  active: [],
  refused: [],
  expired: [],
  cancelled: [],
});

/** States that nothing leaves. */
export const ENDS: readonly RegistrationState[] = ['active', 'refused', 'expired', 'cancelled'];

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
  /** What is wrong, and what to do, for people. */
  what: string;
  do: string;
}

/** What the applicant wants, within what is allowed. */
export interface Wishes extends Pick<RsTerms, 'bandwidth'> {
  /** 24 or 168 characters 0/1, in the time of `zone`; undefined: always. */
  hours?: string;
  /** As IANA names it; undefined: that of the LCC. */
  zone?: string;
}

/**
 * What a pair is for: a provider; another root of one; another password for one that has forgotten it (the file has to be in its roots),
 * or that has it and wants to replace it (nothing is proven).
 */
export type PairKind = 'new' | 'root' | 'reset' | 'rotation';

/** What a pair begins with. */
export interface NewRegistration {
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

/** What a transition changes besides the state; left out: stays. */
export interface RegistrationChanges {
  pid?: number;
  reason?: RegistrationReason | null;
  proven?: readonly string[];
  generation?: number;
  endsMs?: number | null;
}

interface Row {
  id: number;
  kind: PairKind;
  state: RegistrationState;
  generation: number | null;
  pid: number;
  prefix: string;
  host: string;
  file: string;
  secret: string | null;
  password: string | null;
  wishes: string;
  network: string;
  tries: number;
  tried_ms: string;
  reason: string | null;
  proven: string;
  made_ms: number;
  changed_ms: number;
  ends_ms: number | null;
}

interface Move {
  id: number;
  from: RegistrationState;
  to: RegistrationState;
  pid: number | null;
  hasReason: 0 | 1;
  reason: string | null;
  proven: string | null;
  generation: number | null;
  endsMs: number | null;
  nowMs: number;
  isEnd: 0 | 1;
}

const HOUR_MS = 3_600_000;
const MAX_MORE_ROOTS = 20;
const OPEN = `state IN ('issued', 'checking') AND kind <> 'rotation'`;

export class RegistrationStore {
  readonly #statements;

  constructor(db: Db) {
    const select = `SELECT id, kind, state, generation, pid, prefix, host, file, secret, password, wishes, network, tries, tried_ms, reason,
        proven, made_ms, changed_ms, ends_ms FROM registration`;
    this.#statements = {
      lastPid: db.prepare<[], number>("SELECT value FROM counter WHERE name = 'pid'").pluck(),
      setPid: db.prepare<[number]>("UPDATE counter SET value = ? WHERE name = 'pid'"),
      insert: db.prepare<Record<string, string | number | null>>(
        `INSERT INTO registration(kind, generation, capability, state, pid, prefix, host, file, secret, password, wishes, network, made_ms,
           changed_ms, ends_ms)
         VALUES ($kind, $generation, $capability, 'issued', $pid, $prefix, $host, $file, $secret, $password, $wishes, $network, $nowMs, $nowMs,
           $endsMs)`,
      ),
      move: db.prepare<Move>(
        `UPDATE registration SET state = $to, changed_ms = $nowMs, ends_ms = $endsMs, pid = coalesce($pid, pid),
           reason = iif($hasReason, $reason, reason), proven = coalesce($proven, proven),
           generation = coalesce($generation, generation),
           secret = iif($isEnd, NULL, secret), password = iif($isEnd, NULL, password)
         WHERE id = $id AND state = $from`,
      ),
      tried: db.prepare<[string, number]>(
        'UPDATE registration SET tries = tries + 1, tried_ms = ? WHERE id = ?',
      ),
      renumber: db.prepare<[number, number]>(
        "UPDATE registration SET pid = ? WHERE id = ? AND state = 'applying'",
      ),
      get: db.prepare<[number], Row>(`${select} WHERE id = ?`),
      byCapability: db.prepare<[string], Row>(`${select} WHERE capability = ?`),
      inState: db.prepare<[string, number], Row>(
        `${select} WHERE state IN (SELECT value FROM json_each(?)) ORDER BY id DESC LIMIT ?`,
      ),
      ofPid: db.prepare<[number], Row>(`${select} WHERE pid = ? ORDER BY id DESC LIMIT 100`),
      due: db.prepare<[number, number], Row>(
        `${select} WHERE state IN ('issued', 'waiting') AND ends_ms <= ? ORDER BY id LIMIT ?`,
      ),
      open: db.prepare<[], number>(`SELECT count(*) FROM registration WHERE ${OPEN}`).pluck(),
      ofNetwork: db
        .prepare<[string, number, number], number>(
          `SELECT made_ms FROM registration WHERE network = ? AND made_ms > ? AND kind <> 'rotation'
           ORDER BY made_ms DESC LIMIT ?`,
        )
        .pluck(),
      rotations: db
        .prepare<[number, number, number], number>(
          `SELECT made_ms FROM registration WHERE pid = ? AND made_ms > ? AND kind = 'rotation'
           ORDER BY made_ms DESC LIMIT ?`,
        )
        .pluck(),
      ofHost: db
        .prepare<[string], number>(`SELECT count(*) FROM registration WHERE host = ? AND ${OPEN}`)
        .pluck(),
      firstEnd: db
        .prepare<{ host: string | null }, number>(
          `SELECT min(ends_ms) FROM registration WHERE ${OPEN} AND host = coalesce($host, host)`,
        )
        .pluck(),
      moreRoots: db.prepare<[number, number], Row>(
        `${select} WHERE pid = ? AND kind = 'root' AND state NOT IN ('active', 'cancelled') ORDER BY id DESC LIMIT ?`,
      ),
      count: db.prepare<[string], number>('SELECT count(*) FROM registration WHERE state = ?').pluck(),
      forget: db.prepare<[number]>(
        "DELETE FROM registration WHERE state IN ('active', 'refused', 'expired', 'cancelled') AND changed_ms < ?",
      ),
    };
  }

  // Inside a transaction

  /** The next number, which is given once. @param first the lowest there is */
  nextPid(first: number): number {
    const pid = Math.max(first, (this.#statements.lastPid.get() ?? 0) + 1);
    this.#statements.setPid.run(pid);
    return pid;
  }

  /** A pair is issued. @returns its id */
  issue(pair: NewRegistration, pid: number, nowMs: number, endsMs: number): number {
    const { wishes, ...rest } = pair;
    const row = { ...rest, wishes: JSON.stringify(wishes), pid, nowMs, endsMs };
    return Number(this.#statements.insert.run(row).lastInsertRowid);
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
    { pid, reason, proven, generation, endsMs = null }: RegistrationChanges = {},
  ): boolean {
    const row: Move = {
      id,
      from,
      to: becomes(from, to, id),
      pid: pid ?? null,
      hasReason: reason === undefined ? 0 : 1,
      reason: reason === undefined || reason === null ? null : JSON.stringify(reason),
      proven: proven === undefined ? null : JSON.stringify(proven),
      generation: generation ?? null,
      endsMs,
      nowMs,
      isEnd: ENDS.includes(to) ? 1 : 0,
    };
    return this.#statements.move.run(row).changes > 0;
  }

  /** A try to prove it begins. */
  tried({ id, triedMs }: Registration, nowMs: number): void {
    const recent = [...triedMs.filter(ms => ms > nowMs - HOUR_MS), nowMs];
    this.#statements.tried.run(JSON.stringify(recent), id);
  }

  /** Its number was taken: it is being applied for under another one. */
  renumber(id: number, pid: number): void {
    this.#statements.renumber.run(pid, id);
  }

  /** Forgets what ended before. @returns how many */
  forget(beforeMs: number): number {
    return this.#statements.forget.run(beforeMs).changes;
  }

  // Reading

  get(id: number): Registration | undefined {
    return read(this.#statements.get.get(id));
  }

  /** @param capability its hash */
  find(capability: string): Registration | undefined {
    return read(this.#statements.byCapability.get(capability));
  }

  /** The newest first. */
  inStates(states: readonly RegistrationState[], limit: number): Registration[] {
    return this.#statements.inState.all(JSON.stringify(states), limit).map(readRow);
  }

  /** Of a provider, the newest first, at most 100. */
  ofPid(pid: number): Registration[] {
    return this.#statements.ofPid.all(pid).map(readRow);
  }

  /** Those whose state is over by itself. */
  due(nowMs: number, limit: number): Registration[] {
    return this.#statements.due.all(nowMs, limit).map(readRow);
  }

  /** Pairs that are neither proven nor over: in all, and of a host. */
  get open(): number {
    return this.#statements.open.get() ?? 0;
  }

  openOf(host: string): number {
    return this.#statements.ofHost.get(host) ?? 0;
  }

  /** When that is over of which the state ends first, of pairs that are open, of a host or of all. */
  firstEndOf(host: string | null = null): number | undefined {
    return this.#statements.firstEnd.get({ host }) ?? undefined;
  }

  /** When pairs were given to a network since, the newest first, at most `limit`. */
  madeFor(network: string, sinceMs: number, limit: number): number[] {
    return this.#statements.ofNetwork.all(network, sinceMs, limit);
  }

  /** When a provider was given passwords to replace its own since, the newest first, at most `limit`. */
  rotationsOf(pid: number, sinceMs: number, limit: number): number[] {
    return this.#statements.rotations.all(pid, sinceMs, limit);
  }

  /** Roots that a provider wants besides, and has not: the newest first, at most 20. */
  moreRootsOf(pid: number): Registration[] {
    return this.#statements.moreRoots.all(pid, MAX_MORE_ROOTS).map(readRow);
  }

  count(state: RegistrationState): number {
    return this.#statements.count.get(state) ?? 0;
  }
}

function read(row: Row | undefined): Registration | undefined {
  return row && readRow(row);
}

function readRow(row: Row): Registration {
  return {
    id: row.id,
    kind: row.kind,
    generation: row.generation,
    state: row.state,
    pid: row.pid,
    prefix: row.prefix,
    host: row.host,
    file: row.file,
    secret: row.secret ?? undefined,
    password: row.password ?? undefined,
    wishes: JSON.parse(row.wishes) as Wishes,
    network: row.network,
    tries: row.tries,
    triedMs: JSON.parse(row.tried_ms) as number[],
    reason: row.reason === null ? undefined : (JSON.parse(row.reason) as RegistrationReason),
    proven: JSON.parse(row.proven) as string[],
    madeMs: row.made_ms,
    changedMs: row.changed_ms,
    endsMs: row.ends_ms ?? undefined,
  };
}
