/**
 * Times of waits: written by the wall clock, kept by the monotonic one. When the two have moved against each
 * other, the wall clock was set, and all that is written is moved by as much, so that waits are as long as
 * they were.
 */
import type { DispatchOptions } from './dispatch-options.js';

type Options = Pick<DispatchOptions, 'store' | 'clock' | 'backoff' | 'failed'>;

/** The wall clock was set when it has moved by more than this beside the one that only counts. */
const JUMP_MS = 1000;
/** Until what could not be written is tried again. */
const RETRY_MS = 1000;

export class WallTimes {
  readonly #options: Options;
  /** The wall clock beside the monotonic one, as it was when what is written was. */
  #offsetMs: number;
  #lookAgainMs = -Infinity;

  /**
   * Takes up the waits written before the start. A clock that shows an earlier time than that of the writing
   * has been set back since, at least by the difference: every wait is moved back by it, and shortened to the
   * longest that can be.
   */
  constructor(options: Options) {
    this.#options = options;
    const { store, clock, backoff } = options;
    const { providers } = store;
    this.#offsetMs = clock.nowMs() - clock.monotonicMs();
    store.transaction(() => {
      const nowMs = clock.nowMs();
      const aheadMs = (providers.delaysWrittenAtMs ?? nowMs) - nowMs;
      if (aheadMs > 0) {
        providers.moveDelays(-aheadMs);
        providers.setDelaysWrittenAt(nowMs);
      }
      providers.shortenDelays(nowMs + backoff.maxMs);
    });
  }

  /** Looks whether the wall clock was set. */
  look(): void {
    const { store, clock, failed } = this.#options;
    const nowMs = clock.monotonicMs();
    const offsetMs = clock.nowMs() - nowMs;
    const byMs = offsetMs - this.#offsetMs;
    if (Math.abs(byMs) < JUMP_MS || nowMs < this.#lookAgainMs) return;
    try {
      store.transaction(() => {
        store.providers.moveDelays(byMs);
        store.providers.setDelaysWrittenAt(clock.nowMs());
      });
    } catch (error) {
      if (failed(error)) this.#lookAgainMs = nowMs + RETRY_MS;
      return;
    }
    this.#offsetMs = offsetMs;
  }

  /** The monotonic time of what is written. */
  read(wallMs: number): number {
    const { clock, backoff } = this.#options;
    return Math.min(wallMs - this.#offsetMs, clock.monotonicMs() + backoff.maxMs);
  }

  /** A monotonic time as it is written: by the wall clock of the last look. */
  write(atMs: number): number {
    return atMs + this.#offsetMs;
  }
}
