/**
 * Sessions of people who have logged in with a browser. A token of 256 random bits is in its cookie; rs.db
 * has the hash of it. Each login, and each new password, makes another token, so that one that somebody else
 * has put into the browser is worth nothing. Nobody else writes them: what has been read of one is remembered
 * until it ends here.
 */
import { setNewest } from '../lib/newest.js';
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AuditEvent } from '../db/rs/audit.js';
import type { RsDatabase } from '../db/rs/database.js';
import type { SessionKind, SessionRow } from '../db/rs/sessions.js';
import { step } from '../lib/steps.js';

const HOUR_MS = 3_600_000;
const TOKEN_BYTES = 32;
const TOKEN = /^[\w-]{43}$/;
/** A look at a page is written down when the last one is older than this part of the idle time: reading costs
 * no writing. */
const SEEN_PART = 30;
/** Sessions that are remembered; the others are read again. */
const MAX_KNOWN = 1000;

export interface WebSessionLimits {
  /** Ends a session that asks for nothing. */
  idleMs: number;
  /** Ends it in any case. */
  lifetimeMs: number;
  /** Sessions of one account; the oldest one gives way. */
  perAccount: number;
}

export interface WebSession extends Pick<SessionRow, 'kind' | 'account' | 'mark'> {
  /** Token that its forms must send back. */
  formToken: string;
}

export interface Login extends Pick<SessionRow, 'kind' | 'account' | 'mark'> {
  /** For the audit. */
  network: string;
}

interface KnownSession extends WebSession, Pick<SessionRow, 'madeMs' | 'seenMs'> {}

export class WebSessions {
  readonly #db: RsDatabase;
  readonly #nowMs: () => number;
  readonly #limits: WebSessionLimits;
  /** By id, as rs.db has them; those read first stand first. */
  readonly #known = new Map<string, KnownSession>();
  /** Events with accounts that have a row in this hour. */
  readonly #noted = new Set<string>();
  #hour = 0;

  constructor(db: RsDatabase, nowMs: () => number, limits: WebSessionLimits) {
    this.#db = db;
    this.#nowMs = nowMs;
    this.#limits = limits;
  }

  /** Id of a token in rs.db. */
  static idOf(token: string): string {
    return hash('sha256', token);
  }

  /**
   * Somebody has shown a password, or got a new one.
   * @param replaced token of the browser until now, which is worth nothing any more
   * @returns the token of the new session
   */
  begin({ kind, account, mark, network }: Login, replaced?: string): string {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const nowMs = this.#nowMs();
    if (replaced !== undefined) this.#known.delete(WebSessions.idOf(replaced));
    this.#forgetAll(kind, account);
    this.#db.write(() => {
      const { sessions } = this.#db;
      if (replaced !== undefined) sessions.end(WebSessions.idOf(replaced));
      sessions.add({ id: WebSessions.idOf(token), kind, account, mark, madeMs: nowMs, seenMs: nowMs });
      sessions.endOf({ kind, account }, this.#limits.perAccount);
      this.#noteHourly('login', { kind, account }, network);
    });
    step('rs.login.committed');
    return token;
  }

  /** The session of a token, if it goes on. */
  find(kind: SessionKind, token: string | undefined): WebSession | undefined {
    if (token === undefined || !TOKEN.test(token)) return undefined;
    const { idleMs, lifetimeMs } = this.#limits;
    const id = WebSessions.idOf(token);
    const session = this.#known.get(id) ?? this.#read(id, token);
    const nowMs = this.#nowMs();
    // One of the future was made while the clock was ahead, and would go on for as long as that.
    const isAhead = session !== undefined && session.madeMs - nowMs > idleMs;
    if (
      session?.kind !== kind ||
      isAhead ||
      session.seenMs + idleMs <= nowMs ||
      session.madeMs + lifetimeMs <= nowMs
    )
      return undefined;
    if (nowMs - session.seenMs >= idleMs / SEEN_PART) {
      this.#db.write(() => this.#db.sessions.seen(nowMs, id));
      session.seenMs = nowMs;
    }
    return session;
  }

  #read(id: string, token: string): KnownSession | undefined {
    const row = this.#db.sessions.find(id);
    if (row === undefined) return undefined;
    const { kind, account, mark, madeMs, seenMs } = row;
    const session = { kind, account, mark, madeMs, seenMs, formToken: formTokenOf(token) };
    setNewest(this.#known, id, session, MAX_KNOWN);
    return session;
  }

  /** Remembered sessions are read again: another program may have written rs.db. */
  forget(): void {
    this.#known.clear();
  }

  #forgetAll(kind: SessionKind, account: string): void {
    for (const [id, known] of this.#known)
      if (known.kind === kind && known.account === account) this.#known.delete(id);
  }

  /** @returns whether a form is one of this session */
  sentBy({ formToken }: WebSession, sent: string): boolean {
    return timingSafeEqual(hash('sha256', formToken, 'buffer'), hash('sha256', sent, 'buffer'));
  }

  /** Somebody logs out. */
  end(token: string): void {
    const id = WebSessions.idOf(token);
    this.#known.delete(id);
    this.#db.write(() => {
      const row = this.#db.sessions.find(id);
      if (row !== undefined && this.#db.sessions.end(row.id)) this.#noteHourly('logout', row, '');
    });
  }

  /** Ends all of an account: its password is another one. */
  endOf(kind: SessionKind, account: string): void {
    this.#forgetAll(kind, account);
    this.#db.write(() => {
      const ended = this.#db.sessions.endOf({ kind, account });
      if (ended > 0) this.#note('sessions ended', { kind, account }, String(ended));
    });
  }

  /** Forgets those that are over. */
  tidy(): void {
    const nowMs = this.#nowMs();
    const { idleMs, lifetimeMs } = this.#limits;
    this.forget();
    this.#db.write(() => this.#db.sessions.prune(nowMs - idleMs, nowMs - lifetimeMs));
  }

  /** Once an hour for each account: who logs in in a loop fills no database. */
  #noteHourly(event: string, session: Pick<SessionRow, 'kind' | 'account'>, detail: string): void {
    const hour = Math.floor(this.#nowMs() / HOUR_MS);
    if (hour !== this.#hour) this.#noted.clear();
    this.#hour = hour;
    const key = `${event} ${session.kind} ${session.account}`;
    if (this.#noted.has(key)) return;
    this.#noted.add(key);
    this.#note(event, session, detail);
  }

  /** Inside a transaction. */
  #note(event: string, { kind, account }: Pick<SessionRow, 'kind' | 'account'>, detail: string): void {
    const isProvider = kind === 'provider';
    const audited: AuditEvent = {
      event,
      registration: null,
      // An account given as a number need not be one.
      pid: isProvider && /^\d{1,15}$/.test(account) ? Number(account) : null,
      by: kind,
      detail: isProvider ? detail : `${account} ${detail}`.trim(),
    };
    this.#db.audit.add(audited, this.#nowMs());
  }
}

/** Another value for each session, from which the token cannot be found. */
function formTokenOf(token: string): string {
  return hash('sha256', `form ${token}`, 'base64url');
}
