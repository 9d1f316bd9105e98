/** The slots that a robot tells its Bot Managers: its own, and one more for each fetch that goes on beside
 * them, as its site hardly answers. Such sites come and go: what they free is told together. */
import type { Clock } from '../lib/clock.js';

const OFFER_DELAY_MS = 500;

export class OfferedSlots {
  readonly #own: number;
  readonly #clock: Clock;
  readonly #tell: (slots: number) => void;
  #last: number;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(own: number, clock: Clock, tell: (slots: number) => void) {
    this.#own = own;
    this.#clock = clock;
    this.#tell = tell;
    this.#last = own;
  }

  /** As they were told last. */
  get last(): number {
    return this.#last;
  }

  /** @param slow counts fetches beside the slots when it is time to tell */
  look(slow: () => number): void {
    this.#cancel ??= this.#clock.after(OFFER_DELAY_MS, () => {
      this.#cancel = undefined;
      const slots = this.#own + slow();
      if (slots === this.#last || this.#isStopped) return;
      this.#last = slots;
      this.#tell(slots);
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }
}
