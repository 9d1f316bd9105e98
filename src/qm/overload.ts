/** When UNSes are shut out: with `maxQueued` urls queued, or when a transaction finds no room. They are let
 * in again when fewer than `reopenPercent` of that are queued. */
import type { Clock } from '../lib/clock.js';
import { messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';

export interface OverloadOptions {
  clock: Clock;
  log: Log;
  /** Urls queued now that will be fetched: those of complete sets. */
  queued: () => number;
  /** Shut out at this many … */
  maxQueued: number;
  /** … and let in below this share of them. */
  reopenPercent: number;
}

const CHECK_MS = 500;
/** Counting queued urls takes at most 1/100 of the time. */
const COUNT_SHARE = 100;

export class Overload {
  readonly #options: OverloadOptions;
  readonly #reopenBelow: number;
  #shut = false;
  #queued = 0;
  /** Taken since that was counted, whatever of it has been fetched meanwhile. */
  #taken = 0;
  #countAgainMs = -Infinity;
  #opening: Promise<void> | undefined;
  #stopped = false;
  #cancelCheck: (() => void) | undefined;

  constructor(options: OverloadOptions) {
    this.#options = options;
    this.#reopenBelow = Math.max(1, Math.floor((options.maxQueued * options.reopenPercent) / 100));
  }

  /** UNSes are shut out. */
  get isShut(): boolean {
    return this.#shut;
  }

  isFull(): boolean {
    return this.#shut || this.#queuedLately() >= this.#options.maxQueued;
  }

  /** So many urls have become urls that will be fetched. */
  took(urls: number): void {
    this.#taken += urls;
  }

  /**
   * Begins, unless it has begun already.
   * @param reopen lets UNSes in again; when it fails it is tried again
   * @returns whether it has begun now
   */
  begin(reason: string, reopen: () => Promise<void>): boolean {
    if (this.#shut || this.#stopped) return false;
    this.#shut = true;
    this.#options.log.warn('all UNS connections closed', { reason });
    this.#checkLater(reopen);
    return true;
  }

  /** Lets nobody in any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelCheck?.();
    await this.#opening;
  }

  /** Asked for every set, and counted over all providers: as seldom as keeps it a small share of the time,
   * but before anything is taken that there might be no room for. */
  #queuedLately(): number {
    const { clock, queued, maxQueued } = this.#options;
    const nowMs = clock.monotonicMs();
    const atMost = this.#queued + this.#taken;
    if (nowMs < this.#countAgainMs && (atMost < maxQueued || this.#taken === 0)) return atMost;
    this.#queued = queued();
    this.#taken = 0;
    this.#countAgainMs = nowMs + (clock.monotonicMs() - nowMs) * COUNT_SHARE;
    return this.#queued;
  }

  #checkLater(reopen: () => Promise<void>): void {
    const { clock, log, queued } = this.#options;
    this.#cancelCheck = clock.after(CHECK_MS, () => {
      if (this.#stopped) return;
      if (queued() >= this.#reopenBelow) return this.#checkLater(reopen);
      this.#opening = reopen().then(
        () => {
          this.#shut = false;
          log.info('UNS connections accepted again');
        },
        (error: unknown) => {
          log.error('cannot listen for UNS connections', { error: messageOf(error) });
          this.#checkLater(reopen);
        },
      );
    });
  }
}
