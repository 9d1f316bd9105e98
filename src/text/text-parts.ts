/** A text put together from parts, as many as it has characters at worst: V8 would keep `+=` as a chain of
 * all of them, 32 bytes each. */
import { flat } from './tidy.js';

/** Parts that are kept as a chain. */
const MAX_CHAIN = 1024;

export class TextParts {
  #done: string[] = [];
  #chain = '';
  #chained = 0;

  get isEmpty(): boolean {
    return this.#chain === '' && this.#done.length === 0;
  }

  add(part: string): void {
    this.#chain += part;
    if (++this.#chained < MAX_CHAIN) return;
    this.#done.push(flat(this.#chain));
    this.#chain = '';
    this.#chained = 0;
  }

  /** The text; nothing is left of it here. */
  take(): string {
    const text = this.#done.length === 0 ? this.#chain : this.#done.join('') + this.#chain;
    this.#done = [];
    this.#chain = '';
    this.#chained = 0;
    return text;
  }
}
