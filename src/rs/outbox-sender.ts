/** Sends what waits in the outbox to the Queue Manager, in order, until each operation has its answer. One
 * that is answered `later` keeps those of its provider waiting, and no others. */
import type { Connection } from '../daemon/types.js';
import type { WaitingOperation } from '../db/rs/outbox.js';
import { within } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import { LccError, messageOf } from '../lib/errors.js';
import { formatRsAsk, type RsAnswer, type RsQuestion } from '../wire/qm-rs.js';
import { QmRsLink } from './qm-link.js';
import type { RsGround, QmTold } from './ground.js';

/** Read of the database at a time. */
const WINDOW = 100;
/** Providers whose operations have to wait, in one look: with more of them the others wait as well. */
const MAX_HELD = 1000;

export interface OutboxSenderOptions extends Pick<RsGround, 'db' | 'clock' | 'log' | 'fail'> {
  timeoutMs: number;
  /** For which a question waits for its answer, others before it included. */
  askTimeoutMs: number;
  retryMs: number;
  /** Resolves when all that waits may leave. */
  leaves: () => Promise<void>;
  /** An operation has its answer. */
  answered: (operation: WaitingOperation, answer: Exclude<RsAnswer, { later: string }>) => void;
  /** Operations for the home that is connected, where the LCC is several; undefined: all. */
  ours?: (operations: readonly WaitingOperation[]) => Promise<Ours>;
}

export interface Ours {
  pids: ReadonlySet<number>;
  /** Why some have to wait, wherever they go. */
  later: string | undefined;
}

export class OutboxSender {
  readonly #options: OutboxSenderOptions;
  #link: QmRsLink | undefined;
  #isSending = false;
  #isStirred = false;
  #cancelRetry: (() => void) | undefined;
  /** Why the last operation has to wait, as the Queue Manager says; undefined: none does. */
  #later: string | undefined;

  constructor(options: OutboxSenderOptions) {
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#link !== undefined;
  }

  get later(): string | undefined {
    return this.#later;
  }

  /** A connection to the Queue Manager is there. */
  serve({ socket }: Connection): void {
    const { clock, timeoutMs } = this.#options;
    const link = new QmRsLink(new Conversation(socket, 'Queue Manager', clock), timeoutMs);
    this.#link = link;
    socket.once('close', () => {
      if (this.#link === link) this.#link = undefined;
    });
    this.stir();
  }

  /** There may be something to send. */
  stir(): void {
    this.#isStirred = true;
    if (!this.#isSending && this.#link !== undefined) void this.#send().catch(this.#options.fail);
  }

  /** Asks a question; undefined when there is no answer to be had in time. */
  async ask(question: RsQuestion): Promise<QmTold> {
    const { clock, askTimeoutMs } = this.#options;
    const endMs = clock.monotonicMs() + askTimeoutMs;
    try {
      const asked = this.#link?.ask(formatRsAsk(question), () => clock.monotonicMs() < endMs);
      const answer = asked && (await within(clock, asked, askTimeoutMs));
      return answer !== undefined && 'ok' in answer ? answer.ok : undefined;
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      return undefined;
    }
  }

  stop(): void {
    this.#cancelRetry?.();
    this.#link?.close();
    this.#link = undefined;
  }

  async #send(): Promise<void> {
    const { log } = this.#options;
    this.#isSending = true;
    try {
      while (this.#isStirred && this.#link !== undefined) {
        this.#isStirred = false;
        await this.#sendAll(this.#link);
      }
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      log.warn('operation not answered; it is sent again', { error: messageOf(error) });
      this.#link?.close();
      this.#again();
    } finally {
      this.#isSending = false;
    }
  }

  async #sendAll(link: QmRsLink): Promise<void> {
    const { db, log, leaves, answered } = this.#options;
    /** Providers with an operation that has to wait, or goes elsewhere. */
    const held = new Set<number>();
    let later: string | undefined;
    for (;;) {
      const window = db.outbox.waiting(WINDOW, held);
      // safeguard: operations waiting for the engine
      if (window.length > 0) await leaves();
      const ours = await this.#ours(window);
      later ??= ours?.later;
      for (const operation of window) {
        const { id, change } = operation;
        if (ours?.pids.has(change.pid) === false) held.add(change.pid);
        if (held.has(change.pid)) continue;
        const answer = await link.ask(formatRsAsk(change, id));
        if ('later' in answer) {
          held.add(change.pid);
          if (this.#later !== answer.later)
            log.warn('operation has to wait', { op: change.op, pid: change.pid, reason: answer.later });
          this.#later = later = answer.later;
        } else answered(operation, answer);
      }
      if (window.length === 0 || held.size >= MAX_HELD) break;
    }
    if (held.size > 0) this.#again();
    this.#later = later;
  }

  /** While nobody can say where they go, all wait. */
  async #ours(window: readonly WaitingOperation[]): Promise<Ours | undefined> {
    const { ours } = this.#options;
    if (ours === undefined || window.length === 0) return undefined;
    try {
      return await ours(window);
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      return { pids: new Set(), later: messageOf(error) };
    }
  }

  #again(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = this.#options.clock.after(this.#options.retryMs, () => this.stir());
  }
}
