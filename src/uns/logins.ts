/**
 * From credentials to an admission: back-off, password, spool room, connection number, what the CP is told.
 */
import type { Provider } from '../db/providers/pidb.js';
import type { PidbReader } from '../db/providers/pidb-reader.js';
import type { AdmittedLogin, SessionBegun, SessionStore } from '../db/spools/sessions.js';
import type { Clock } from '../lib/clock.js';
import { errnoOf, LccError, messageOf } from '../lib/errors.js';
import { GroupCommit } from '../lib/group-commit.js';
import type { Log } from '../lib/log.js';
import { passwordMatches } from '../lib/password.js';
import { step } from '../lib/steps.js';
import type { InitAccepted } from '../wire/cp-uns/server.js';
import { LoginBackoff } from '../lib/login-backoff.js';
import type { SpoolIntake } from './spool-intake.js';
import type { UnsOptions } from './options.js';
import type { Rations } from './full-sets-allowed.js';
import { shownErrors } from './shown-errors.js';
import { truthfulnessOf } from './truthfulness.js';
import { Refusal } from '../wire/refusal.js';

const LOGINS_AT_A_TIME = 1000;

/** Errors of earlier fetches shown at a time. */
const ERRORS_SHOWN = 100;

interface Credentials {
  id: string;
  password: string;
  /** '' for Unix sockets. */
  address: string;
}

/** A CP that was let in. */
export interface Admission {
  provider: Provider;
  seq: number;
  /** Errors up to this pierr.errseq were received in earlier sessions. */
  errseen: number;
  /** The highest errseq this session shows; 0 = none. */
  shownUpTo: number;
  status: InitAccepted;
}

interface LoginParts {
  pidb: PidbReader;
  sessions: SessionStore;
  intake: SpoolIntake;
  rations: Rations;
  clock: Clock;
  log: Log;
  /** Called when the process must end: a sync has failed. */
  fail: (error: unknown) => void;
}

export class Logins {
  readonly #options: UnsOptions;
  readonly #parts: LoginParts;
  readonly #backoff: LoginBackoff;
  readonly #commits: GroupCommit;

  constructor(options: UnsOptions, parts: LoginParts) {
    this.#options = options;
    this.#parts = parts;
    this.#backoff = new LoginBackoff(parts.clock);
    this.#commits = new GroupCommit({
      commit: change => this.#commit(change),
      sync: () => this.#sync(),
      clock: parts.clock,
      maxWeight: () => LOGINS_AT_A_TIME,
    });
  }

  /**
   * @param takePlace counts the session in; throws a Refusal when the provider has too many
   * @param rest lets the CP wait so long; throws when its connection is over before
   * @throws Refusal 101, 102 or 105
   */
  async admit(
    credentials: Credentials,
    takePlace: (pid: number) => void,
    rest: (delayMs: number) => Promise<void>,
  ): Promise<Admission> {
    const provider = await this.#authenticate(credentials, rest);
    this.#parts.intake.demandRoom();
    takePlace(provider.pid);
    const begun = await this.#begin({
      pid: provider.pid,
      ip: credentials.address,
      known: { seq: provider.lastconnseq, ip: provider.lastconnip },
    });
    return this.#describe(provider, begun);
  }

  /**
   * How a provider stands, for a client that only looks: it takes no place, no number, and receives no
   * errors.
   * @param rest as in `admit`
   * @throws Refusal 101, 102 or 105
   */
  async look(credentials: Credentials, rest: (delayMs: number) => Promise<void>): Promise<InitAccepted> {
    const provider = await this.#authenticate(credentials, rest);
    const { seq, lastIp, errseen } = this.#parts.sessions.last(provider.pid);
    const known = { seq: provider.lastconnseq, lastIp: provider.lastconnip };
    const last = known.seq > seq ? known : { seq, lastIp };
    return this.#describe(provider, { ...last, errseen }).status;
  }

  /** Remembers, durably, that a provider has received its errors up to `errseen`. @throws Refusal 102;
   * LccError `io` */
  async received(pid: number, errseen: number): Promise<void> {
    await this.#commits.add(() => this.#parts.sessions.received(pid, errseen));
  }

  /** Who it is. @throws Refusal 101, 102 or 105 */
  async #authenticate(
    { id, password, address }: Credentials,
    rest: (delayMs: number) => Promise<void>,
  ): Promise<Provider> {
    const pid = pidOf(id);
    // One provider, however its number is written.
    const account = String(pid ?? id);
    const delayMs = this.#delayMs(account, address);
    if (delayMs > 0) await rest(delayMs);
    const { provider, isMoving } = this.#lookUp(pid);
    if (!passwordMatches(password, provider?.password) || provider === undefined) {
      this.#backoff.failed(account, address);
      throw new Refusal(101);
    }
    this.#backoff.succeeded(account, address);
    if (!provider.enabled) throw new Refusal(105);
    if (isMoving) throw new Refusal(102, 'the provider moves to another machine, try again later');
    return provider;
  }

  #delayMs(account: string, address: string): number {
    const delayMs = this.#backoff.delayMs(account, address);
    if (delayMs > this.#options.limits.loginTimeoutMs) {
      throw new Refusal(102, 'too many failed logins, try again later');
    }
    return delayMs;
  }

  #lookUp(pid = 0): { provider: Provider | undefined; isMoving: boolean } {
    try {
      const { pidb } = this.#parts;
      return { provider: pidb.provider(pid), isMoving: pidb.isMoving(pid) };
    } catch (error) {
      this.#parts.log.error('cannot read the provider database', { error: messageOf(error) });
      throw new Refusal(102, 'the provider database cannot be read, try again later');
    }
  }

  /** Logins that come at the same time share one transaction and its sync. */
  #begin(beginning: AdmittedLogin): Promise<SessionBegun> {
    return this.#commits.add(() => this.#parts.sessions.number(beginning));
  }

  #commit<T>(change: () => T): T {
    try {
      return this.#parts.sessions.commit(change);
    } catch (error) {
      this.#parts.log.error('cannot number connections', { error: messageOf(error) });
      throw (
        laterFor(error) ??
        new LccError('io', `${this.#options.sessionsDb}: ${messageOf(error)}`, { cause: error })
      );
    }
  }

  /** A number may be told only when it is on disk: after a power cut it would be given to somebody else. */
  async #sync(): Promise<void> {
    try {
      await this.#parts.sessions.synced();
      step('uns.connection.synced');
    } catch (error) {
      const failure = new LccError('io', `${this.#options.sessionsDb}: ${messageOf(error)}`, {
        cause: error,
      });
      this.#parts.fail(failure);
      throw failure;
    }
  }

  #describe(provider: Provider, begun: SessionBegun): Admission {
    const { pid, filesmax, filesused, spacemax, spaceused } = provider;
    const { shown, total, upTo } = shownErrors(this.#parts.pidb, provider, begun.errseen, ERRORS_SHOWN);
    const waiting = this.#parts.intake.waiting(pid);
    return {
      provider,
      seq: begun.seq,
      errseen: begun.errseen,
      shownUpTo: upTo,
      status: {
        seq: begun.seq,
        numbering: this.#parts.sessions.numbering,
        lastIp: begun.lastIp,
        isNew: provider.lastset === 0 && waiting.sets === 0,
        mimes: this.#options.mimes,
        files: { used: filesused, free: Math.max(0, filesmax - filesused) },
        space: { used: spaceused, free: Math.max(0, spacemax - spaceused) },
        fullset: this.#parts.rations.of(provider, waiting.fullSets),
        errors: total,
        processing: provider.nurlproc + waiting.urls,
        truth: truthfulnessOf(this.#parts.pidb.truth(pid, Math.floor(this.#parts.clock.nowMs() / 1000))),
        shown,
      },
    };
  }
}

/** The refusal for a CP where trying again later helps. */
function laterFor(error: unknown): Refusal | undefined {
  switch (errnoOf(error) ?? '') {
    case 'SQLITE_FULL':
      return new Refusal(102, 'no room on disk, try again later');
    // Other UNSes write there, too.
    case 'SQLITE_BUSY':
      return new Refusal(102);
    default:
      return undefined;
  }
}

/** The number that a CP gives as its own, if it can be one. */
export function pidOf(id: string): number | undefined {
  return /^[0-9]{1,15}$/.test(id) ? Number(id) : undefined;
}
