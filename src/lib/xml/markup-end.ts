/** Where markup ends, found in pieces of any size without looking at a character twice. */

export interface MarkupEnd {
  /** Entities may be referred to in it. */
  readonly hasReferences: boolean;
  /** Looks on from `from`, where it left off: just after the end, undefined when that is not in `text`. */
  find(text: string, from: number): number | undefined;
}

const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const GREATER = 0x3e;

/** The end of a tag: a `>` outside quotes. */
export class TagEnd implements MarkupEnd {
  readonly hasReferences = true;
  /** The quote that ends the value, where one is open. */
  #quote = '';

  find(text: string, from: number): number | undefined {
    for (let at = from; at < text.length; at++) {
      if (this.#quote !== '') {
        at = text.indexOf(this.#quote, at);
        if (at < 0) return undefined;
        this.#quote = '';
        continue;
      }
      const code = text.charCodeAt(at);
      if (code === GREATER) return at + 1;
      if (code === QUOTE || code === APOSTROPHE) this.#quote = text.charAt(at);
    }
    return undefined;
  }
}

/** The end of a comment or an instruction: its last characters, which are not among its first. */
export class TextEnd implements MarkupEnd {
  readonly hasReferences = false;
  readonly #last: string;
  #toSkip: number;
  /** The end of what was looked at, shorter than `#last`. */
  #seen = '';

  constructor(first: string, last: string) {
    this.#toSkip = first.length;
    this.#last = last;
  }

  find(text: string, from: number): number | undefined {
    const start = from + this.#toSkip;
    const length = this.#last.length;
    this.#toSkip = 0;
    const seam = this.#seen + text.slice(start, start + length - 1);
    const acrossSeam = seam.indexOf(this.#last);
    if (acrossSeam >= 0) return start + acrossSeam + length - this.#seen.length;
    const found = text.indexOf(this.#last, start);
    if (found >= 0) return found + length;
    this.#seen = (this.#seen + text.slice(Math.max(start, text.length - length + 1))).slice(1 - length);
    return undefined;
  }
}
