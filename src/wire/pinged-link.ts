/**
 * The two ends of a link, over which both sides speak at any time; its messages are the edge's. The lower
 * side says first of all who it is. Pings are how each notices that the other hangs or the link is cut, which
 * nothing else tells it:
 *
 *     upper:  connected ──greeting──▶ greeted ──silent for three pings──▶ closed
 *                 ╰── none within helloTimeoutMs, or another message: refused
 *     lower:  connected ──ping──▶ pinged ──silent for two intervals──▶ over, at once
 *
 * The upper side pings every interval, where that is wanted, and says when the next ping is due; the lower
 * side answers each. After two intervals without a ping the lower side gives the link up, and with it what it
 * was doing; after three pings without an answer the upper side gives the work to others. So the lower side
 * has stopped before anybody else begins. A lower side that stood still itself (SIGSTOP, a machine without
 * processor time) must not go on with what it finds in its buffers then: time counts, and not whether a timer
 * had its turn.
 */
import type { Duplex } from 'node:stream';
import { formatAmount } from '../config/amounts.js';
import { limitText } from '../config/settings/index.js';
import { LccError } from '../lib/errors.js';
import type { Attributes } from '../lib/xml/types.js';
import { optionalInteger } from './fields.js';
import { MessageChannel, type ChannelHandlers, type ChannelOptions, type LinkOptions } from './messages.js';

/** Intervals of silence after which the lower side gives up the upper one … */
const PATIENCE = 2;
/** … and pings without an answer after which the upper side gives up the lower one. */
const UPPER_PATIENCE = 3;
/** Share of an interval by which this process may notice late that the time is over; one that notices later
 * stood still. */
const GRACE = 0.25;

const PONG = '<pong/>\n';

interface LowerOptions extends ChannelOptions {
  /** How long the other side may say nothing at first; left out: for ever. */
  firstWordMs?: number | undefined;
}

/** Handlers of the code that serves an end. */
type EndHandlers = Pick<ChannelHandlers, 'closed' | 'ended'>;

export abstract class LowerEnd<H extends EndHandlers> {
  readonly channel: MessageChannel;
  protected readonly handlers: H;
  readonly #options: LowerOptions;
  #held = false;
  #heard = false;
  /** Pings come at this interval; a second one without any is due, and over, at … */
  #intervalMs = 0;
  #dueMs = Infinity;
  #hasGivenUp = false;
  /** Ends the one wait there is: for the first word, or for a ping. */
  #cancel: (() => void) | undefined;

  constructor(stream: Duplex, handlers: H, options: LowerOptions) {
    this.handlers = handlers;
    this.#options = options;
    this.channel = new MessageChannel(
      stream,
      {
        ...(handlers.ended !== undefined && { ended: () => handlers.ended?.() }),
        message: (name, attributes, text) => {
          this.#heard = true;
          if (this.isOver()) return;
          if (name === 'ping') this.#pinged(optionalInteger('ping', attributes, 'intervalms'));
          else this.message(name, attributes, text);
        },
        closed: reason => {
          this.#rest();
          handlers.closed(reason);
        },
      },
      options,
    );
    if (options.firstWordMs !== undefined) this.#awaitWord(options.firstWordMs);
  }

  /** One message that is no ping. @throws LccError what is wrong with it */
  protected abstract message(name: string, attributes: Attributes, text: string): void;

  /** True if the other side has said something. */
  get heard(): boolean {
    return this.#heard;
  }

  /** True if the other side has been silent for so long that what it asked for may be another's, which ends
   * the channel. To be asked before anything of that is done. */
  isOver(): boolean {
    if (this.#hasGivenUp) return true;
    if (this.#nowMs() < this.#dueMs || (this.#held && !this.#hasStoodStill())) return false;
    this.#giveUp();
    return true;
  }

  /** Stops (true) or goes on (false) taking messages. */
  hold(held: boolean): void {
    this.#held = held;
    this.channel.hold(held);
  }

  #awaitWord(timeoutMs: number): void {
    this.#cancel = this.#options.clock.after(timeoutMs, () => {
      if (this.#heard) return;
      // Words of the peer may wait to be read.
      if (this.#held) this.#awaitWord(timeoutMs);
      else refuseSilent(this.channel, 'has said nothing', timeoutMs);
    });
  }

  /** @param intervalMs until the next one, if there will be one */
  #pinged(intervalMs: number | undefined): void {
    this.#rest();
    if (!this.channel.open) return;
    if (intervalMs !== undefined) this.#awaitPing(intervalMs);
    this.channel.send(PONG);
  }

  #awaitPing(intervalMs: number): void {
    this.#intervalMs = intervalMs;
    this.#dueMs = this.#nowMs() + intervalMs * PATIENCE;
    this.#cancel = this.#options.clock.after(intervalMs * PATIENCE, () => {
      if (!this.#held || this.#hasStoodStill()) return this.#giveUp();
      // The peer's pings lie unread here: it must not take that for silence.
      this.channel.send(PONG);
      this.#awaitPing(intervalMs);
    });
  }

  /** Bytes that are not read then are no excuse any more. */
  #hasStoodStill(): boolean {
    return this.#nowMs() > this.#dueMs + GRACE * this.#intervalMs;
  }

  #giveUp(): void {
    this.#hasGivenUp = true;
    this.#rest();
    cutSilent(this.channel, `${PATIENCE} times the ${this.#intervalMs / 1000} s it pings at`);
  }

  #rest(): void {
    this.#cancel?.();
    this.#dueMs = Infinity;
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}

export abstract class UpperEnd<H extends EndHandlers> {
  readonly channel: MessageChannel;
  protected readonly handlers: H;
  readonly #greeting: string;
  readonly #options: LinkOptions;
  #greeted = false;
  #isPinging = false;
  /** Pings sent since something was heard, and when the first of them was. */
  #unheard = 0;
  #sinceMs = 0;
  /** Ends the one wait there is: for the greeting, or until the next ping. */
  #cancel: () => void;

  /** @param greeting name of the lower side's first message */
  constructor(stream: Duplex, greeting: string, handlers: H, options: LinkOptions) {
    this.handlers = handlers;
    this.#greeting = greeting;
    this.#options = options;
    this.channel = new MessageChannel(
      stream,
      {
        message: (name, attributes, text) => {
          this.#unheard = 0;
          if (name === greeting) this.#greet(attributes);
          else if (!this.#greeted) throw this.tooEarly(name);
          else if (name !== 'pong') this.message(name, attributes, text);
        },
        closed: reason => {
          this.#cancel();
          handlers.closed(reason);
        },
      },
      options,
    );
    const { clock, helloTimeoutMs } = options;
    this.#cancel = clock.after(helloTimeoutMs, () =>
      refuseSilent(this.channel, 'no greeting', helloTimeoutMs),
    );
  }

  /** Who is there: first of all, and again whenever that changes. @returns whether it wants pings */
  protected abstract greeted(attributes: Attributes): boolean;

  /** One message after the greeting. @throws LccError what is wrong with it */
  protected abstract message(name: string, attributes: Attributes, text: string): void;

  /** The error for a message that comes before the greeting. */
  protected tooEarly(name: string): LccError {
    return this.channel.violation(`<${name}> before <lococa:${this.#greeting}>`);
  }

  /**
   * For how long a ping has had no answer, from a whole interval on; 0 otherwise, and where none are wanted.
   */
  get silentMs(): number {
    return this.#unheard < 2 ? 0 : this.#options.clock.monotonicMs() - this.#sinceMs;
  }

  #greet(attributes: Attributes): void {
    const isPinged = this.greeted(attributes);
    if (!this.#greeted) this.#cancel();
    this.#greeted = true;
    if (isPinged && !this.#isPinging) this.#ping();
  }

  /** Pings now and every interval. */
  #ping(): void {
    this.#isPinging = true;
    if (!this.channel.open) return;
    const { pingIntervalMs, clock } = this.#options;
    if (this.#unheard >= UPPER_PATIENCE) {
      const limit = limitText('wire.ping_interval_ms', pingIntervalMs);
      return cutSilent(this.channel, `${UPPER_PATIENCE} intervals of ${limit}`);
    }
    if (this.#unheard++ === 0) this.#sinceMs = clock.monotonicMs();
    this.channel.send(`<ping intervalms="${pingIntervalMs}"/>\n`);
    this.#cancel = clock.after(pingIntervalMs, () => this.#ping());
  }
}

function refuseSilent(channel: MessageChannel, what: string, timeoutMs: number): void {
  channel.refuse(channel.violation(`${what} for ${formatAmount(timeoutMs, 'ms')}`));
}

function cutSilent(channel: MessageChannel, limit: string): void {
  const why = `${channel.where}: silent for ${limit}; it hangs, or the link is cut`;
  channel.destroy(new LccError('peer.unavailable', why));
}
