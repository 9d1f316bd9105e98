/** Mail put together: who is written to, what, and the server that takes it. */
import { isPassing, messageOf } from '../../lib/errors.js';
import { USES_KEPT_MS } from '../limits.js';
import { ForgottenPasswords } from './forgotten.js';
import { Mailing } from './mailing.js';
import { News } from './news.js';
import type { MailOptions } from './options.js';
import { MailSender, type MailSenderOptions } from './sender.js';
import type { RsGround } from '../ground.js';

const DAY_MS = 86_400_000;
/** For which news waits that cannot be sent. */
const NOTES_KEPT_MS = 30 * DAY_MS;
/** Between two passes where the server has not taken all. */
const RETRY_MS = 10_000;

export interface MailParts extends Pick<RsGround, 'db' | 'clock' | 'log' | 'fail' | 'show' | 'applied'> {
  options: MailOptions;
  /** Undefined: no mail is sent. */
  handOver: MailSenderOptions['handOver'] | undefined;
  leaves?: MailSenderOptions['leaves'];
  /** Left out: 10 s. */
  retryMs?: number;
}

export class RunningMail {
  readonly mailing: Mailing;
  readonly forgotten: ForgottenPasswords;
  readonly #parts: MailParts;
  readonly #news: News;
  readonly #sender: MailSender | undefined;
  /** The work begun last, which ends when all of it is over. */
  #work: Promise<void> = Promise.resolve();
  #hints: Promise<void> = Promise.resolve();
  #isStirred = false;
  #isStopped = false;
  #cancelRetry: (() => void) | undefined;

  constructor(parts: MailParts) {
    const { db, options, handOver, leaves, clock, log } = parts;
    this.#parts = parts;
    const stir = () => this.stir();
    this.mailing = new Mailing({ db, options, nowMs: () => clock.nowMs(), stir });
    this.forgotten = new ForgottenPasswords({ ...parts, mailing: this.mailing, stir });
    this.#news = new News({ ...parts, mailing: this.mailing });
    this.#sender = handOver && new MailSender({ db, clock, log, handOver, leaves });
    this.stir();
  }

  /** Why the last mail could not be sent; undefined: it could. */
  get trouble(): string | undefined {
    return this.#sender?.trouble;
  }

  /** Something was noted, or committed as a mail, perhaps by another process. */
  stir(): void {
    if (this.#isStirred || this.#isStopped || this.#sender === undefined) return;
    this.#isStirred = true;
    // The request that has led to this is answered first.
    const turn = new Promise(resolve => void setImmediate(resolve));
    this.#work = Promise.all([this.#work, turn]).then(() => {
      this.#isStirred = false;
      return this.#isStopped ? undefined : this.#send();
    });
    this.#work = this.#work.catch((error: unknown) => this.#passing(error));
  }

  /** Does the work that is due by time. */
  tidy(): void {
    const { db, options, clock } = this.#parts;
    try {
      const nowMs = clock.nowMs();
      db.write(() => {
        db.uses.forget(nowMs - USES_KEPT_MS);
        db.mails.releaseOld(nowMs - options.unconfirmedMs);
        db.addresses.forget(nowMs - DAY_MS, nowMs - NOTES_KEPT_MS, nowMs);
      });
    } catch (error) {
      this.#passing(error);
    }
    this.stir();
    if (this.#sender === undefined) return;
    this.#hints = this.#hints
      .then(() => this.#news.hint())
      .then(() => this.stir())
      .catch((error: unknown) => this.#passing(error));
  }

  /** When all that can be done now is done. */
  async idle(): Promise<void> {
    await this.#hints;
    for (let work; work !== this.#work; await work) work = this.#work;
  }

  /** Begins no other mail. @returns when the one under way is over */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelRetry?.();
    await this.idle();
  }

  async #send(): Promise<void> {
    while ((await this.forgotten.look()) || this.#news.gather() > 0);
    this.#news.tellOperator();
    const isLeft = await this.#sender?.pass(() => this.#isStopped);
    if (isLeft !== true || this.#isStopped) return;
    const { clock, retryMs = RETRY_MS } = this.#parts;
    this.#cancelRetry ??= clock.after(retryMs, () => {
      this.#cancelRetry = undefined;
      this.#sender?.again();
      this.stir();
    });
  }

  /** A database that is busy or full passes: what waits for it is done at the next look. */
  #passing(error: unknown): void {
    const { log, fail } = this.#parts;
    if (isPassing(error)) log.warn('mail waits for the database', { error: messageOf(error) });
    else fail(error);
  }
}
