/** Mail put together: who is written to, what, and the server that takes it. */
import type { RsDatabase } from '../../db/rs/database.js';
import type { Clock } from '../../lib/clock.js';
import { LccError, messageOf } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import { ForgottenPasswords } from './forgotten.js';
import { Mailing } from './mailing.js';
import { News, type NewsOptions } from './news.js';
import type { MailOptions } from './options.js';
import { MailSender } from './sender.js';
import { sendMail, type SmtpOptions } from './smtp.js';

const DAY_MS = 86_400_000;
/** For which news waits that cannot be sent. */
const NOTES_KEPT_MS = 30 * DAY_MS;

export interface MailParts {
  db: RsDatabase;
  options: MailOptions;
  /** Undefined: no mail is sent. */
  smtp: SmtpOptions | undefined;
  clock: Clock;
  log: Log;
  show: NewsOptions['show'];
  /** There is something for the Queue Manager. */
  applied: () => void;
  fail: (error: unknown) => void;
}

export interface RunningMail {
  mailing: Mailing;
  forgotten: ForgottenPasswords;
  /** Something was noted, or queued, perhaps by another process. */
  stir(): void;
  /** What is due by time. */
  tidy(): void;
  readonly trouble: string | undefined;
  /** When all that can be done now is done. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

export function startMail({ db, options, smtp, clock, log, show, applied, fail }: MailParts): RunningMail {
  const sender =
    smtp === undefined
      ? undefined
      : new MailSender({
          db,
          clock,
          log,
          retryMs: options.retryMs,
          send: letter => sendMail(letter, smtp),
          fail,
        });
  let isStopped = false;
  let stirred: Promise<void> | undefined;
  let gathered: Promise<void> = Promise.resolve();
  const stir = () => {
    if (stirred !== undefined || isStopped || sender === undefined) return;
    // What is asked for is answered first.
    stirred = new Promise(resolve => {
      setImmediate(() => {
        stirred = undefined;
        gathered = gathered.then(() => (isStopped ? undefined : gather())).catch(guard);
        resolve(gathered);
      });
    });
  };
  let hinting: Promise<void> = Promise.resolve();
  const mailing = new Mailing({ db, options, nowMs: () => clock.nowMs(), stir });
  const forgotten = new ForgottenPasswords({ db, mailing, options, clock, show, stir, applied });
  const news = new News({ db, mailing, options, clock, show });
  stir();
  return {
    mailing,
    forgotten,
    stir,
    tidy() {
      stir();
      guarded(() => {
        const nowMs = clock.nowMs();
        db.write(() => {
          db.mails.forget(nowMs - DAY_MS, nowMs - options.unconfirmedMs);
          db.addresses.forget(nowMs - DAY_MS, nowMs - NOTES_KEPT_MS, nowMs);
        });
      });
      if (sender !== undefined) hinting = hinting.then(() => news.hint()).then(stir, guard);
    },
    get trouble() {
      return sender?.trouble;
    },
    async idle() {
      await hinting;
      await stirred;
      await gathered;
      await sender?.idle();
    },
    async stop() {
      isStopped = true;
      await gathered;
      await sender?.stop();
    },
  };

  async function gather(): Promise<void> {
    while ((await forgotten.look()) || news.gather() > 0);
    news.tellOperator();
    sender?.stir();
  }

  function guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      guard(error);
    }
  }

  /** What passes is done at the next look. */
  function guard(error: unknown): void {
    if (error instanceof LccError && ['try.later', 'io.full'].includes(error.code))
      log.warn('mail waits for the database', { error: messageOf(error) });
    else fail(error);
  }
}
