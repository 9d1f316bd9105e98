/**
 * Hands mails to the mail server, which is their queue from then on. A row of rs.db goes when the server has
 * its mail:
 *
 *     committed ──taken by the server──▶ gone
 *       │ ▲ ╰──refused for good, or not taken for a day──▶ given up: audit, log
 *       ╰─╯ not now: the next pass
 *
 * Killed between the server's answer and its commit, the one mail is handed over again, with the same
 * Message-ID.
 */
import type { RsDatabase } from '../../db/rs/database.js';
import { FIRST_KINDS, type WaitingMail } from '../../db/rs/mails.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import { maskedAddress } from '../../lib/mail-address.js';
import { step } from '../../lib/steps.js';
import { SUBJECTS } from './letters.js';
import { keyOf } from './mailing.js';
import type { HandedOver, Letter } from './server.js';

/** A mail that no server has taken for so long is given up. */
const KEPT_MS = 86_400_000;
const GIVEN_UP_AT_A_TIME = 1000;

export interface MailSenderOptions {
  db: RsDatabase;
  clock: Pick<Clock, 'nowMs'>;
  log: Log;
  handOver: (letter: Letter) => Promise<HandedOver>;
  /** Resolves when all that waits may leave; left out: at once. */
  leaves?: (() => Promise<void>) | undefined;
}

export class MailSender {
  readonly #options: MailSenderOptions;
  /** The mails with ids up to this one were tried in this pass; Infinity: the server takes none. */
  #tried = 0;
  #trouble: string | undefined;

  constructor(options: MailSenderOptions) {
    this.#options = options;
  }

  /** Why the last mail could not be sent; undefined: it could. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Begins another pass. */
  again(): void {
    this.#tried = 0;
  }

  /** Hands over the mails that this pass has not tried, one at a time. @returns whether some are left for the
   * next pass */
  async pass(isStopped: () => boolean): Promise<boolean> {
    const { db, clock, handOver, leaves } = this.#options;
    this.#giveUp(
      db.mails.madeBefore(clock.nowMs() - KEPT_MS, GIVEN_UP_AT_A_TIME),
      'no server took it for a day',
    );
    let hadSecret = false;
    for (let mail; !isStopped() && (mail = db.mails.next(this.#tried)) !== undefined;) {
      const before = this.#tried;
      // If the end of this one cannot be written down, no other one is begun.
      this.#tried = Infinity;
      const { address, body, message, kind } = mail;
      // safeguard: mail waiting for the engine
      await leaves?.();
      const { isTaken, isLater, isServer, why } = await handOver({
        address,
        body,
        message,
        subject: SUBJECTS[kind],
      });
      if (isTaken) this.#taken(mail);
      else if (isLater) this.#notTaken(mail, why);
      else this.#giveUp([mail], why);
      this.#tried = isServer ? Infinity : isLater ? mail.id : before;
      hadSecret ||= kind === 'pair';
    }
    // Deleted text is also in the log of the database.
    if (hadSecret) db.emptyLog();
    return this.#tried > 0;
  }

  #taken(mail: WaitingMail): void {
    const { db, log } = this.#options;
    step('rs.mail.taken');
    this.#trouble = undefined;
    db.write(() => {
      if (db.mails.remove(mail.id)) this.#note('mail sent', mail, mail.kind);
    });
    step('rs.mail.sent');
    log.info('mail sent', { kind: mail.kind, registration: mail.registration });
  }

  #notTaken({ kind, registration }: WaitingMail, why: string): void {
    this.#options.log.warn('mail not sent; it is tried again', { kind, registration, error: why });
    this.#trouble = why;
  }

  #giveUp(mails: readonly WaitingMail[], why: string): void {
    const { db, log } = this.#options;
    if (mails.length === 0) return;
    db.write(() => {
      for (const mail of mails) {
        if (!db.mails.remove(mail.id)) continue;
        // The mailbox has not been written to, after all.
        if (FIRST_KINDS.includes(mail.kind)) db.mails.release(keyOf(mail.address));
        this.#note('mail given up', mail, `${mail.kind}: ${why}`);
      }
    });
    step('rs.mail.given-up');
    for (const { kind, registration } of mails) log.warn('mail given up', { kind, registration, error: why });
    db.emptyLog();
  }

  #note(event: string, { registration, address }: WaitingMail, what: string): void {
    const { db, clock } = this.#options;
    const pid = registration === null ? null : (db.addresses.pidOf(registration) ?? null);
    const detail = `${maskedAddress(address)}, ${what}`;
    db.audit.add({ event, registration, pid, by: 'rs', detail }, clock.nowMs());
  }
}
