/**
 * Lines of bytes as they arrive, each as long as allowed; a longer one is passed over, and costs no memory.
 */

const LF = 0x0a;
const CR = 0x0d;
const BEYOND_ASCII = /[\x80-\xff]/;

export class ByteLines {
  readonly #maxBytes: number;
  /** The beginning of a line whose end has not come. */
  #begun: Buffer[] = [];
  #begunBytes = 0;

  /** @param maxBytes of a line without its end, LF or CRLF */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of a line whose end has not come. */
  get pendingBytes(): number {
    return this.#begunBytes;
  }

  /** The lines that the next bytes complete, without their ends, a character a byte (latin1); undefined for
   * one that is too long. */
  *read(bytes: Buffer): Generator<string | undefined, void> {
    let start = 0;
    for (let end; (end = bytes.indexOf(LF, start)) >= 0; start = end + 1) {
      this.#add(bytes.subarray(start, end));
      yield this.#taken();
    }
    // A copy: the buffer may be used again after this call.
    if (start < bytes.length) this.#add(Buffer.from(bytes.subarray(start)));
  }

  /** The line that the end of the input completes, if one has begun. */
  *end(): Generator<string | undefined, void> {
    if (this.#begunBytes > 0) yield this.#taken();
  }

  #add(part: Buffer): void {
    this.#begunBytes += part.length;
    // A CR may follow the last byte allowed.
    if (this.#begunBytes <= this.#maxBytes + 1) this.#begun.push(part);
    else this.#begun = [];
  }

  #taken(): string | undefined {
    const [first] = this.#begun;
    const line = this.#begun.length === 1 && first !== undefined ? first : Buffer.concat(this.#begun);
    const isTooLong = this.#begunBytes > this.#maxBytes + 1;
    this.#begun = [];
    this.#begunBytes = 0;
    const text = line.at(-1) === CR ? line.toString('latin1', 0, line.length - 1) : line.toString('latin1');
    return isTooLong || text.length > this.#maxBytes ? undefined : text;
  }
}

/** The text of a line in UTF-8; bytes that are none become U+FFFD. */
export function utf8Of(line: string): string {
  return BEYOND_ASCII.test(line) ? Buffer.from(line, 'latin1').toString('utf8') : line;
}
