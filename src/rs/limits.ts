/**
 * How often something may be done in a time: one table of kinds, each counted by a key. A use is a row of
 * rs.db, in the transaction of what it stands for; wrong passwords are counted in memory, for guesses must
 * write nothing.
 */
import ipaddr from 'ipaddr.js';
import type { RsDatabase } from '../db/rs/database.js';
import { limitIn, valueOf, type NumberKey, type Settings } from '../config/settings/index.js';
import type { Clock } from '../lib/clock.js';
import { setNewest } from '../lib/newest.js';
import { RsRequestRefused, tooOften } from './refusal.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The longest time of the table: what is older counts nowhere. */
export const USES_KEPT_MS = DAY_MS;

interface Row {
  /** The setting that says how often, or a number that none changes. */
  at: NumberKey | number;
  inMs: number;
  /** The action that is done too often, as the refusal has it. */
  of: string;
  /** Another help besides waiting. */
  or?: string;
  code?: 'too-many' | 'too-often';
}

const OR_NO_ADDRESS = ', or do it without an address';
/** The key of a use is a network, a provider or a mailbox; '' counts all. */
const TABLE = {
  pair: { at: 'rs.pairs_per_network', inMs: DAY_MS, of: 'pairs for your network in a day' },
  password: { at: 'rs.pairs_per_network', inMs: DAY_MS, of: 'passwords in a day' },
  change: { at: 20, inMs: HOUR_MS, of: 'changes in an hour', code: 'too-often' },
  forgotten: { at: 10, inMs: DAY_MS, of: 'requests for your network in a day' },
  mailbox: { at: 'rs.mails_per_address', inMs: DAY_MS, of: 'mails to this address in a day' },
  mailing: {
    at: 10,
    inMs: DAY_MS,
    of: 'mails for your network in a day',
    or: OR_NO_ADDRESS,
  },
  mail: { at: 500, inMs: DAY_MS, of: 'mails in all in a day', or: OR_NO_ADDRESS },
  login: { at: 20, inMs: HOUR_MS, of: 'wrong logins from your network in an hour' },
} as const satisfies Record<string, Row>;
type Limit = keyof typeof TABLE;

/** A limit of the settings, as a number and as a refusal names it. */
export interface Most {
  most: number;
  text: string;
}

export function usesOf(rs: Settings['rs']): Readonly<Record<Limit, Most>> {
  const most = ({ at }: Row) =>
    typeof at === 'number'
      ? { most: at, text: String(at) }
      : { most: valueOf({ rs }, at), text: limitIn({ rs }, at) };
  return Object.fromEntries(Object.entries(TABLE).map(([kind, row]) => [kind, most(row)])) as Record<
    Limit,
    Most
  >;
}

export class Limits {
  readonly #uses: RsDatabase['uses'];
  readonly #most: Readonly<Record<Limit, Most>>;
  readonly #nowMs: () => number;

  constructor({ uses }: Pick<RsDatabase, 'uses'>, most: Readonly<Record<Limit, Most>>, nowMs: () => number) {
    this.#uses = uses;
    this.#most = most;
    this.#nowMs = nowMs;
  }

  /** Inside a transaction. @throws RsRequestRefused 429 */
  demand(kind: Limit, key: number | string): void {
    const nowMs = this.#nowMs();
    refuseFrom(kind, this.#most[kind], this.#times(kind, key, nowMs), nowMs);
  }

  /** One more; inside a transaction. */
  count(kind: Limit, key: number | string): void {
    this.#uses.add(kind, String(key), this.#nowMs());
  }

  /** Inside the transaction of what is done. @throws RsRequestRefused 429 */
  use(kind: Limit, key: number | string): void {
    this.demand(kind, key);
    this.count(kind, key);
  }

  /** How often it may still be done now. */
  left(kind: Limit, key: number | string): number {
    return this.#most[kind].most - this.#times(kind, key, this.#nowMs()).length;
  }

  #times(kind: Limit, key: number | string, nowMs: number): readonly number[] {
    return this.#uses.times(kind, String(key), nowMs - TABLE[kind].inMs, nowMs, this.#most[kind].most);
  }
}

/** @param times when it was done, the newest first */
function refuseFrom(kind: Limit, { most, text }: Most, times: readonly number[], nowMs: number): void {
  if (times.length < most) return;
  const { of, inMs, or, code = 'too-many' }: Row = TABLE[kind];
  const waitMs = (times.at(-1) ?? nowMs) + inMs - nowMs;
  throw tooOften(code, `too many ${of}: the limit is ${text}`, waitMs, or);
}

const NETWORK_BITS = { ipv4: 24, ipv6: 48 } as const;

/** Of an applicant: a part of the internet that one person may have to themselves. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return 'local';
  const parsed = ipaddr.process(address);
  const bits = NETWORK_BITS[parsed.kind()];
  const base =
    parsed.kind() === 'ipv4'
      ? ipaddr.IPv4.networkAddressFromCIDR(`${parsed.toString()}/${bits}`)
      : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${bits}`);
  return `${base.toString()}/${bits}`;
}

/** Networks remembered; beyond, the one that is longest silent is forgotten. */
const MAX_NETWORKS = 10_000;

/** Wrong passwords of each network, over all accounts. */
export class LoginGuard {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #most: Most;
  /** When those of the last hour were made, and those under way; the newest first. */
  readonly #wrong = new Map<string, number[]>();

  constructor(clock: Pick<Clock, 'monotonicMs'>, most: Most) {
    this.#clock = clock;
    this.#most = most;
  }

  /**
   * Has a password checked. One that is being checked counts as wrong, so that many at a time are not more
   * than one after the other.
   * @throws RsRequestRefused 429 after too many wrong ones, whatever the password is; the same as `check`
   */
  async attempt<T>(network: string, check: () => Promise<T>): Promise<T> {
    const nowMs = this.#clock.monotonicMs();
    const times = (this.#wrong.get(network) ?? []).filter(ms => ms > nowMs - TABLE.login.inMs);
    refuseFrom('login', this.#most, times, nowMs);
    this.#put(network, [nowMs, ...times]);
    let isWrong = false;
    try {
      return await check();
    } catch (error) {
      isWrong = error instanceof RsRequestRefused && error.status === 401;
      throw error;
    } finally {
      if (!isWrong) {
        const now = this.#wrong.get(network) ?? [];
        this.#put(network, now.toSpliced(now.indexOf(nowMs), 1));
      }
    }
  }

  #put(network: string, times: number[]): void {
    if (times.length > 0) setNewest(this.#wrong, network, times, MAX_NETWORKS);
    else this.#wrong.delete(network);
  }
}
