/** Names of tags or attributes that are looked for: their first letter and their length tell most others from
 * them. */
const LETTERS = 32;

export class KnownNames {
  /** A bit a length, by the first letter in either case. */
  readonly #lengths = new Uint32Array(LETTERS);

  constructor(names: Iterable<string>) {
    for (const name of names) {
      const letter = name.charCodeAt(0) % LETTERS;
      this.#lengths[letter] = (this.#lengths[letter] ?? 0) | (1 << name.length);
    }
  }

  /** True if a part of a text may be one of them; false is certain. */
  mayBe(text: string, start: number, end: number): boolean {
    const length = end - start;
    const lengths = this.#lengths[text.charCodeAt(start) % LETTERS] ?? 0;
    return length < LETTERS && ((lengths >>> length) & 1) === 1;
  }
}
