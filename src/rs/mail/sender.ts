/**
 * Hands mails to the server, one at a time, the one that has waited longest first.
 *
 *     queued ──taken by the server──▶ gone
 *       │ ▲ ╰──refused for good, or older than rs.mail_keep_ms──▶ given up: audit, log
 *       ╰─╯ not now: rs.mail_retry_ms, doubled each time
 *
 * Killed between the server's answer and its commit, the one mail is sent again, with the same Message-ID.
 */
import type { RsDatabase } from '../../db/rs/database.js';
import { FIRST_KINDS, type WaitingMail } from '../../db/rs/mails.js';
import type { Clock } from '../../lib/clock.js';
import { LccError, messageOf } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import { maskedAddress } from '../../lib/mail-address.js';
import { step } from '../../lib/steps.js';
import { SUBJECTS } from './letters.js';
import { keyOf } from './mailing.js';
import type { Letter, SmtpOutcome } from './smtp.js';

const HOUR_MS = 3_600_000;
const GIVEN_UP_AT_A_TIME = 1000;

export interface MailSenderOptions {
  db: RsDatabase;
  clock: Clock;
  log: Log;
  send: (letter: Letter) => Promise<SmtpOutcome>;
  retryMs: number;
  fail: (error: unknown) => void;
}

export class MailSender {
  readonly #options: MailSenderOptions;
  #sending: Promise<void> | undefined;
  #isStirred = false;
  #isStopped = false;
  #cancel: (() => void) | undefined;
  /** How often the server could not be used, one after the other; no mail is tried before, on the clock that never jumps. */
  #failures = 0;
  #restUntilMs = -Infinity;
  #trouble: string | undefined;

  constructor(options: MailSenderOptions) {
    this.#options = options;
  }

  /** Why the last mail could not be sent; undefined: it could. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** There may be something to send. */
  stir(): void {
    this.#isStirred = true;
    if (this.#sending !== undefined || this.#isStopped) return;
    this.#sending = this.#sendAll()
      .catch(this.#options.fail)
      .finally(() => {
        this.#sending = undefined;
      });
  }

  /** When nothing is due, or can be sent. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  /** Begins no other mail. @returns when the one under way is over */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    const { db, clock, log } = this.#options;
    while (this.#isStirred && !this.#isStopped) {
      this.#isStirred = false;
      try {
        this.#giveUp(
          db.read(() => db.mails.over(clock.nowMs(), GIVEN_UP_AT_A_TIME)),
          'rs.mail_keep_ms',
        );
        await this.#sendDue();
      } catch (error) {
        if (!(error instanceof LccError) || !['try.later', 'io.full'].includes(error.code)) throw error;
        log.warn('mail waits for the database', { error: messageOf(error) });
        this.#restUntilMs = clock.monotonicMs() + this.#options.retryMs;
      }
    }
    this.#wakeUp();
  }

  async #sendDue(): Promise<void> {
    const { db, clock, send } = this.#options;
    let hadSecret = false;
    while (!this.#isStopped && clock.monotonicMs() >= this.#restUntilMs) {
      const mail = db.mails.next(clock.nowMs(), this.#options.retryMs, HOUR_MS);
      if (mail === undefined) break;
      const { address, body, message, kind } = mail;
      const outcome = await send({ address, body, message, subject: SUBJECTS[kind] });
      if (outcome.isSent) this.#sent(mail);
      else this.#notSent(mail, outcome);
      hadSecret ||= kind === 'pair';
    }
    // What was deleted is also in the log of the database.
    if (hadSecret) db.emptyLog();
  }

  #sent(mail: WaitingMail): void {
    const { db, clock, log } = this.#options;
    step('rs.mail.taken');
    this.#failures = 0;
    this.#trouble = undefined;
    db.write(() => {
      if (db.mails.remove(mail)) this.#note('mail sent', mail, mail.kind, clock.nowMs());
    });
    step('rs.mail.sent');
    log.info('mail sent', { kind: mail.kind, registration: mail.registration, tries: mail.tries + 1 });
  }

  #notSent(mail: WaitingMail, { isLater, isServer, why }: Extract<SmtpOutcome, { isSent: false }>): void {
    const { db, clock, log, retryMs } = this.#options;
    if (!isLater) return this.#giveUp([mail], why);
    const { kind, registration, tries } = mail;
    log.warn('mail not sent; it is tried again', { kind, registration, tries: tries + 1, error: why });
    this.#trouble = why;
    db.write(() => db.mails.later(mail, clock.nowMs() + doubled(retryMs, tries)));
    // The others would fail alike.
    if (isServer) this.#restUntilMs = clock.monotonicMs() + doubled(retryMs, this.#failures++);
  }

  #giveUp(mails: readonly WaitingMail[], why: string): void {
    const { db, clock, log } = this.#options;
    if (mails.length === 0) return;
    db.write(() => {
      for (const mail of mails) {
        if (!db.mails.remove(mail)) continue;
        // It has not been written to, after all.
        if (FIRST_KINDS.includes(mail.kind)) db.mails.release(keyOf(mail.address));
        this.#note('mail given up', mail, `${mail.kind}: ${why}`, clock.nowMs());
      }
    });
    step('rs.mail.given-up');
    for (const { kind, registration, tries } of mails)
      log.warn('mail given up', { kind, registration, tries, error: why });
    if (mails.some(({ kind }) => kind === 'pair')) db.emptyLog();
  }

  /** Comes back when the next one is due. */
  #wakeUp(): void {
    const { db, clock } = this.#options;
    this.#cancel?.();
    const { dueMs } = db.mails;
    if (dueMs === undefined || this.#isStopped) return;
    const waitMs = Math.max(dueMs - clock.nowMs(), this.#restUntilMs - clock.monotonicMs());
    this.#cancel = clock.after(Math.min(HOUR_MS, Math.max(1, waitMs)), () => this.stir());
  }

  #note(event: string, { registration, address }: WaitingMail, what: string, nowMs: number): void {
    const pid = registration === null ? null : (this.#options.db.addresses.pidOf(registration) ?? null);
    const detail = `${maskedAddress(address)}, ${what}`;
    this.#options.db.audit.add({ event, registration, pid, by: 'rs', detail }, nowMs);
  }
}

function doubled(retryMs: number, times: number): number {
  return Math.min(HOUR_MS, retryMs * 2 ** Math.min(times, 20));
}
