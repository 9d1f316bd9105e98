/**
 * Sets whose CPs wait in a kept home until the Queue Manager has answered for them; what it answers is in the
 * engine. Until then the spool carries a set, and no further: one that is given up is taken out of it, unless
 * it is being sent.
 *
 *     spooled ──absorbed──▶ accepted
 *        │ ╰──refused, damaged──▶ told so
 *        ╰──ABSORB_WAIT_MS, the UNS stops──▶ 102
 */
import type { Clock } from '../lib/clock.js';
import type { SpoolEntry } from '../lib/spool-frames.js';
import { step } from '../lib/steps.js';
import { Refusal } from '../wire/refusal.js';

/** Time for the Queue Manager to absorb a set, and for the engine to take that. */
const ABSORB_WAIT_MS = 10_000;

interface Waiting {
  sinceMs: number;
  absorbed: () => void;
  refused: (why: Refusal) => void;
}

export class Absorptions {
  readonly #clock: Clock;
  readonly #giveUp: (id: string) => Promise<void>;
  readonly #waiting = new Map<string, Waiting>();
  #over: Refusal | undefined;
  /** Time that the last set took which was absorbed. */
  #lastMs = 0;

  /** @param giveUp takes an entry out of the spool, unless it is being sent */
  constructor(clock: Clock, giveUp: (id: string) => Promise<void>) {
    this.#clock = clock;
    this.#giveUp = giveUp;
  }

  /** Resolves when the set may be called accepted. @throws Refusal */
  async of({ id }: SpoolEntry): Promise<void> {
    let cancel = () => {};
    try {
      await new Promise<void>((absorbed, refused) => {
        if (this.#over !== undefined) return refused(this.#over);
        this.#waiting.set(id, { sinceMs: this.#clock.monotonicMs(), absorbed, refused });
        cancel = this.#clock.after(ABSORB_WAIT_MS, () => {
          refused(
            new Refusal(102, 'the Queue Manager has not absorbed the set within 10 s, try again later'),
          );
        });
      });
      step('uns.absorbed.told');
    } catch (error) {
      await this.#giveUp(id);
      throw error;
    } finally {
      cancel();
      this.#waiting.delete(id);
    }
  }

  /** Seconds that the CP has waited which waits longest; where none does, those of the last. */
  get waitS(): number {
    const [oldest] = this.#waiting.values();
    return (oldest === undefined ? this.#lastMs : this.#clock.monotonicMs() - oldest.sinceMs) / 1000;
  }

  /** The Queue Manager has absorbed it. */
  absorbed(id: string): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#lastMs = this.#clock.monotonicMs() - waiting.sinceMs;
    waiting.absorbed();
  }

  /** The Queue Manager has not. @returns false: no CP waits to hear that */
  refused(id: string, why: Refusal): boolean {
    this.#waiting.get(id)?.refused(why);
    return this.#waiting.has(id);
  }

  /** No CP waits from now on. */
  end(why: Refusal): void {
    this.#over = why;
    for (const { refused } of this.#waiting.values()) refused(why);
  }
}
