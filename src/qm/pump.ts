export interface PumpOptions {
  /** Sends what may be sent. */
  run: () => void;
  /** Runs something when the present callback returns, before anybody else has the event loop. */
  atReturn: (action: () => void) => void;
}

/** When it is looked what may be sent: soon, and once however often it is asked for; but when that took long
 * everybody else has the event loop first, though what was done asks for more at once. */
export class Pump {
  readonly #options: PumpOptions;
  #isAsked = false;
  #isResting = false;
  #isStopped = false;

  constructor(options: PumpOptions) {
    this.#options = options;
  }

  ask(): void {
    if (this.#isAsked || this.#isStopped) return;
    this.#isAsked = true;
    this.#options.atReturn(() => this.#go());
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
    if (!this.#isStopped && !this.#isResting) this.#options.run();
  }
}
