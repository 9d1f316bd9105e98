/** Lines of an input of which any byte may be wrong: a line that cannot be used is named by its number, and the others stay. */

/** Of one line, without its end. */
export const MAX_LINE_BYTES = 64 * 1024;

export interface InputLine {
  /** From 1. */
  number: number;
  /** Undefined when the line cannot be used. */
  text?: string;
  problem?: string;
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;

export class LineReader {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
  #number = 0;
  /** The line that is not whole yet. */
  #begun: Buffer[] = [];
  #begunBytes = 0;

  /** The lines that end in a chunk, empty ones left out. The chunk may be used again afterwards. */
  *read(chunk: Buffer): Generator<InputLine, void> {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end), false);
      from = end + 1;
      yield* this.#finish();
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from), true);
  }

  /** The last line, where it has no end. */
  *end(): Generator<InputLine, void> {
    if (this.#begunBytes > 0) yield* this.#finish();
  }

  #keep(bytes: Buffer, copied: boolean): void {
    this.#begunBytes += bytes.length;
    // Of a line that is too long only its length is of interest.
    if (this.#begunBytes > MAX_LINE_BYTES) this.#begun = [];
    else if (bytes.length > 0) this.#begun.push(copied ? Buffer.from(bytes) : bytes);
  }

  *#finish(): Generator<InputLine, void> {
    const number = ++this.#number;
    const [only = Buffer.alloc(0), ...more] = this.#begun;
    const isLong = this.#begunBytes > MAX_LINE_BYTES;
    const bytes = more.length === 0 ? only : Buffer.concat(this.#begun);
    this.#begun = [];
    this.#begunBytes = 0;
    if (isLong) return yield { number, problem: `longer than ${MAX_LINE_BYTES} bytes` };
    const line = bytes.at(-1) === RETURN ? bytes.subarray(0, -1) : bytes;
    if (line.length === 0) return;
    if (line.includes(0)) return yield { number, problem: 'a NUL byte' };
    try {
      yield { number, text: this.#decoder.decode(line) };
    } catch {
      yield { number, problem: 'not UTF-8' };
    }
  }
}
