import type { DispatchOptions } from './dispatch-options.js';

/** When it is looked what may be sent: soon, and once however often it is asked for; but when that took long
 * everybody else has the event loop first, though what was done asks for more at once. */
export class Pump {
  readonly #run: () => void;
  readonly #atReturn: DispatchOptions['atReturn'];
  #isAsked = false;
  #isResting = false;
  #isStopped = false;

  /** @param run sends what may be sent */
  constructor(run: () => void, atReturn: DispatchOptions['atReturn']) {
    this.#run = run;
    this.#atReturn = atReturn;
  }

  ask(): void {
    if (this.#isAsked || this.#isStopped) return;
    this.#isAsked = true;
    this.#atReturn(() => this.#go());
  }

  /** The pump took long, and there is more: it goes on when the event loop has gone round. */
  rest(): void {
    this.#isResting = true;
    setImmediate(() => {
      this.#isResting = false;
      this.#go();
    });
  }

  stop(): void {
    this.#isStopped = true;
  }

  #go(): void {
    this.#isAsked = false;
    if (!this.#isStopped && !this.#isResting) this.#run();
  }
}
