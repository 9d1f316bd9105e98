/** Lines of an input of which any byte may be wrong: a line that cannot be used is named by its number, and
 * the others stay. */
import { ByteLines } from '../../lib/byte-lines.js';

/** Most bytes of one line, without its end. */
const MAX_LINE_BYTES = 64 * 1024;
const BEYOND_ASCII = /[\x80-\xff]/;

interface InputLine {
  /** From 1. */
  number: number;
  /** Undefined when the line cannot be used. */
  text?: string;
  problem?: string;
}

export class LineReader {
  readonly #lines = new ByteLines(MAX_LINE_BYTES);
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
  #number = 0;

  /** The lines that end in a chunk, empty ones left out. The chunk may be used again afterwards. */
  *read(chunk: Buffer): Generator<InputLine, void> {
    for (const line of this.#lines.read(chunk)) yield* this.#judged(line);
  }

  /** The last line, where it has no end. */
  *end(): Generator<InputLine, void> {
    for (const line of this.#lines.end()) yield* this.#judged(line);
  }

  /** @param line a character a byte; undefined: too long */
  *#judged(line: string | undefined): Generator<InputLine, void> {
    const number = ++this.#number;
    if (line === undefined) return yield { number, problem: `longer than ${MAX_LINE_BYTES} bytes` };
    if (line === '') return;
    if (line.includes('\0')) return yield { number, problem: 'a NUL byte' };
    if (!BEYOND_ASCII.test(line)) return yield { number, text: line };
    try {
      yield { number, text: this.#decoder.decode(Buffer.from(line, 'latin1')) };
    } catch {
      yield { number, problem: 'not UTF-8' };
    }
  }
}
