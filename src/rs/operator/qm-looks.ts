/** Looks of the Queue Manager, over a connection of its own: a look may take a while, and operations do not
 * wait for it. One overview at a time is asked for, at intervals, however many browsers show it. */
import type { Connection } from '../../daemon/types.js';
import type { Clock } from '../../lib/clock.js';
import { Conversation } from '../../lib/conversation.js';
import { LccError } from '../../lib/errors.js';
import { formatRsAsk } from '../../wire/qm-rs.js';
import type { RsLook, RsOverview, RsProviderPage } from '../../wire/rs-looks.js';
import { QmRsLink } from '../qm-link.js';

export interface QmLooksOptions {
  clock: Clock;
  timeoutMs: number;
  intervalMs: number;
  /** An overview came. */
  seen: (overview: RsOverview) => void;
  fail: (error: unknown) => void;
}

export class QmLooks {
  readonly #options: QmLooksOptions;
  #link: QmRsLink | undefined;
  #overview: RsOverview | undefined;
  /** Why the last question has no answer. */
  #problem: string | undefined;
  #cancel: (() => void) | undefined;
  #isOver = false;

  constructor(options: QmLooksOptions) {
    this.#options = options;
  }

  /** The overview seen last, however long ago; undefined: nothing yet. */
  get overview(): RsOverview | undefined {
    return this.#overview;
  }

  /** Why there is nothing newer; undefined: all is well. */
  get problem(): string | undefined {
    return this.#link === undefined ? 'lccd-rs cannot reach lccd-qm' : this.#problem;
  }

  serve({ socket }: Connection): void {
    const { clock, timeoutMs } = this.#options;
    const link = new QmRsLink(new Conversation(socket, 'Queue Manager', clock), timeoutMs);
    this.#link = link;
    socket.once('close', () => {
      if (this.#link === link) this.#link = undefined;
    });
    this.#again(0);
  }

  /** Providers that match; undefined when there is no answer to be had. */
  async providers(search: string, after: number): Promise<RsProviderPage | undefined> {
    return (await this.#ask({ op: 'providers', search, after })) as RsProviderPage | undefined;
  }

  stop(): void {
    this.#isOver = true;
    this.#cancel?.();
    this.#link?.close();
    this.#link = undefined;
  }

  #again(delayMs: number): void {
    this.#cancel?.();
    if (this.#isOver) return;
    this.#cancel = this.#options.clock.after(delayMs, () => void this.#look().catch(this.#options.fail));
  }

  async #look(): Promise<void> {
    const { intervalMs, seen } = this.#options;
    const overview = (await this.#ask({ op: 'overview' })) as RsOverview | undefined;
    if (overview !== undefined) {
      this.#overview = overview;
      seen(overview);
    }
    if (this.#link !== undefined) this.#again(intervalMs);
  }

  async #ask(look: RsLook): Promise<unknown> {
    try {
      const answer = await this.#link?.ask(formatRsAsk(look));
      if (answer !== undefined && 'ok' in answer) {
        this.#problem = undefined;
        return answer.ok;
      }
      if (answer !== undefined) this.#problem = `lccd-qm: ${'later' in answer ? answer.later : answer.text}`;
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      this.#problem = error.message;
      // A late answer would be taken for that to the next question.
      this.#link?.close();
    }
    return undefined;
  }
}
