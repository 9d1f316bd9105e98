/** Splits a stream of bytes into names, each ended by a separator; the last may lack it. */
export class NameSplitter {
  readonly #separator: string;
  #carry = '';

  constructor(separator: '\n' | '\0') {
    this.#separator = separator;
  }

  /** The names completed by this chunk, as latin1 strings. */
  push(chunk: Buffer): string[] {
    const names = (this.#carry + chunk.toString('latin1')).split(this.#separator);
    this.#carry = names.pop() ?? '';
    return names;
  }

  /** What is left at the end of the input. */
  end(): string[] {
    const last = this.#carry;
    this.#carry = '';
    return last === '' ? [] : [last];
  }
}
