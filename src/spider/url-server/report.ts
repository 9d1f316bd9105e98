/** Lines for a reader that may be slow: written one after the other, while the process goes on. */

export class Report {
  readonly #write: (bytes: Buffer) => Promise<void>;
  readonly #failed: (error: unknown) => void;
  readonly #maxWaiting: number;
  #waiting = '';
  #writing: Promise<void> | undefined;
  #isBroken = false;

  /**
   * @param write resolves when all is written
   * @param maxWaiting characters beyond which `room` waits
   * @param failed is told once that nobody reads any more; then lines are dropped
   */
  constructor(write: (bytes: Buffer) => Promise<void>, maxWaiting: number, failed: (error: unknown) => void) {
    this.#write = write;
    this.#maxWaiting = maxWaiting;
    this.#failed = failed;
  }

  add(line: string): void {
    if (this.#isBroken) return;
    this.#waiting += line;
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when no more than `maxWaiting` characters wait. */
  async room(): Promise<void> {
    if (this.#waiting.length > this.#maxWaiting) await this.#writing;
  }

  /** Resolves when all is written. */
  async end(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#waiting !== '') {
        const bytes = Buffer.from(this.#waiting);
        this.#waiting = '';
        await this.#write(bytes);
      }
    } catch (error) {
      this.#isBroken = true;
      this.#waiting = '';
      this.#failed(error);
    }
    this.#writing = undefined;
  }
}
