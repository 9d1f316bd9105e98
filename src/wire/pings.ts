/**
 * The lower side's patience with an upper one that pings: each ping says when the next is due, and after two intervals of
 * silence the upper one is given up, before others give its work to somebody else.
 */
import type { Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';
import type { MessageChannel } from './messages.js';

/** Intervals of silence after which the other side is given up. */
const PATIENCE = 2;

export class Patience {
  readonly #channel: MessageChannel;
  readonly #clock: Clock;
  readonly #excuses: () => boolean;
  #cancel: (() => void) | undefined;

  /** @param excuses asked when the time is up: whether pings may lie unread on this side */
  constructor(channel: MessageChannel, clock: Clock, excuses: () => boolean) {
    this.#channel = channel;
    this.#clock = clock;
    this.#excuses = excuses;
  }

  /** A ping has come. @param intervalMs until the next; undefined: nobody says that there will be one */
  heard(intervalMs: number | undefined): void {
    this.stop();
    if (intervalMs === undefined || !this.#channel.open) return;
    this.#cancel = this.#clock.after(intervalMs * PATIENCE, () => {
      if (this.#excuses()) return this.heard(intervalMs);
      const { where } = this.#channel;
      const limit = `${PATIENCE} times the ${intervalMs / 1000} s it pings at`;
      this.#channel.destroy(
        new LccError('peer.unavailable', `${where}: silent for ${limit}; it hangs, or the link is cut`),
      );
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
