/** Requests that wait while there is no robot go back to the source after `bm.robot_wait_ms`; `lccd` starts
 * one that died within seconds. */
import type { Clock } from '../lib/clock.js';

export class RobotWait {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #giveBack: () => void;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, waitMs: number, giveBack: () => void) {
    this.#clock = clock;
    this.#waitMs = waitMs;
    this.#giveBack = giveBack;
  }

  /** @param slots of all robots @param waiting requests that no robot has */
  look(slots: number, waiting: number): void {
    if (slots > 0) return this.stop();
    if (waiting === 0) return;
    this.#cancel ??= this.#clock.after(this.#waitMs, () => {
      this.#cancel = undefined;
      this.#giveBack();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
