/**
 * Pings: how each side of a link notices that the other hangs or the link is cut, which nothing else tells it.
 *
 * The upper side pings every interval and says when the next ping is due; the lower side answers each. After two intervals
 * without a ping the lower side gives the link up, and with it what it was doing; after three pings without an answer the
 * upper side gives the work to others. So the lower side has stopped before anybody else begins. A lower side that stood
 * still itself (SIGSTOP, a machine without processor time) must not go on with what it finds in its buffers then: time
 * counts, and not whether a timer had its turn.
 */
import { limitText } from '../config/settings/index.js';
import type { Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';
import type { Attributes } from '../lib/xml/types.js';
import { optionalInteger } from './fields.js';
import type { LinkOptions, MessageChannel } from './messages.js';

/** Intervals of silence after which the lower side gives up the upper one … */
const PATIENCE = 2;
/** … and pings without an answer after which the upper side gives up the lower one. */
const UPPER_PATIENCE = 3;
/** Share of an interval by which this process may notice late that the time is over; one that notices later stood still. */
const GRACE = 0.25;

const PONG = '<pong/>\n';

/** @param intervalMs until the next one */
export function formatPing(intervalMs: number): string {
  return `<ping intervalms="${intervalMs}"/>\n`;
}

/** The lower side's part. */
export class Patience {
  readonly #channel: MessageChannel;
  readonly #clock: Clock;
  readonly #isHeld: () => boolean;
  #intervalMs = 0;
  #dueMs = Infinity;
  #hasGivenUp = false;
  #cancel: (() => void) | undefined;

  /** @param isHeld whether nothing is read from the channel for now: pings may lie unread on this side */
  constructor(channel: MessageChannel, clock: Clock, isHeld: () => boolean) {
    this.#channel = channel;
    this.#clock = clock;
    this.#isHeld = isHeld;
  }

  /** A ping has come; it need not say that there will be another. @throws LccError `peer.protocol` */
  heard(ping: Attributes): void {
    const intervalMs = optionalInteger('ping', ping, 'intervalms');
    this.stop();
    if (!this.#channel.open) return;
    if (intervalMs !== undefined) this.#wait(intervalMs);
    this.#channel.send(PONG);
  }

  /** Whether the upper side has been silent for too long, which ends the channel. To be asked before anything it says is done. */
  isOver(): boolean {
    if (this.#hasGivenUp) return true;
    const lateMs = this.#clock.monotonicMs() - this.#dueMs;
    if (lateMs < 0 || (this.#isHeld() && !this.#hasStoodStill())) return false;
    this.#giveUp();
    return true;
  }

  /** What is not read then is no excuse any more. */
  #hasStoodStill(): boolean {
    return this.#clock.monotonicMs() > this.#dueMs + GRACE * this.#intervalMs;
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#dueMs = Infinity;
  }

  #wait(intervalMs: number): void {
    this.#intervalMs = intervalMs;
    this.#dueMs = this.#clock.monotonicMs() + intervalMs * PATIENCE;
    this.#cancel = this.#clock.after(intervalMs * PATIENCE, () => {
      if (!this.#isHeld() || this.#hasStoodStill()) return this.#giveUp();
      // Its pings lie unread here: it must not take that for silence.
      this.#channel.send(PONG);
      this.#wait(intervalMs);
    });
  }

  #giveUp(): void {
    this.#hasGivenUp = true;
    const { where } = this.#channel;
    const limit = `${PATIENCE} times the ${this.#intervalMs / 1000} s it pings at`;
    this.stop();
    this.#channel.destroy(
      new LccError('peer.unavailable', `${where}: silent for ${limit}; it hangs, or the link is cut`),
    );
  }
}

/** The upper side's part. */
export class Pinger {
  readonly #channel: MessageChannel;
  readonly #options: LinkOptions;
  /** Pings sent since something was heard, and when the first of them was. */
  #unheard = 0;
  #sinceMs = 0;
  #cancel: (() => void) | undefined;

  constructor(channel: MessageChannel, options: LinkOptions) {
    this.#channel = channel;
    this.#options = options;
  }

  /** Something was said: an answer to a ping, or anything else. */
  heard(): void {
    this.#unheard = 0;
  }

  /** For how long a ping has had no answer, from a whole interval on; 0 otherwise. */
  get silentMs(): number {
    return this.#unheard < 2 ? 0 : this.#options.clock.monotonicMs() - this.#sinceMs;
  }

  /** Pings from now on, at once and every interval. */
  start(): void {
    if (this.#cancel === undefined) this.#ping();
  }

  stop(): void {
    this.#cancel?.();
  }

  #ping(): void {
    if (!this.#channel.open) return;
    const { pingIntervalMs, clock } = this.#options;
    if (this.#unheard >= UPPER_PATIENCE) {
      const limit = limitText('wire.ping_interval_ms', pingIntervalMs);
      const { where } = this.#channel;
      this.#channel.destroy(
        new LccError(
          'peer.unavailable',
          `${where}: silent for ${UPPER_PATIENCE} intervals of ${limit}; it hangs, or the link is cut`,
        ),
      );
      return;
    }
    if (this.#unheard++ === 0) this.#sinceMs = clock.monotonicMs();
    this.#channel.send(formatPing(pingIntervalMs));
    this.#cancel = clock.after(pingIntervalMs, () => this.#ping());
  }
}
