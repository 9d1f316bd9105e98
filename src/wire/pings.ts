/**
 * Pings, and the lower side's patience with an upper one that pings: each ping says when the next is due, and after two
 * intervals of silence the upper one is given up, before others give its work to somebody else.
 */
import type { Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';
import type { Attributes } from '../lib/xml/types.js';
import { optionalInteger } from './fields.js';
import type { MessageChannel } from './messages.js';

/** Intervals of silence after which the other side is given up. */
const PATIENCE = 2;

/** @param intervalMs until the next one */
export function formatPing(intervalMs: number): string {
  return `<ping intervalms="${intervalMs}"/>\n`;
}

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

  /** A ping has come; it need not say that there will be another. @throws LccError `peer.protocol` */
  heard(ping: Attributes): void {
    const intervalMs = optionalInteger('ping', ping, 'intervalms');
    this.stop();
    if (intervalMs !== undefined) this.#wait(intervalMs);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #wait(intervalMs: number): void {
    if (!this.#channel.open) return;
    this.#cancel = this.#clock.after(intervalMs * PATIENCE, () => {
      if (this.#excuses()) return this.#wait(intervalMs);
      const { where } = this.#channel;
      const limit = `${PATIENCE} times the ${intervalMs / 1000} s it pings at`;
      this.#channel.destroy(
        new LccError('peer.unavailable', `${where}: silent for ${limit}; it hangs, or the link is cut`),
      );
    });
  }
}
