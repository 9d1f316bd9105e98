import { LccError } from '../lib/errors.js';

/** Far beyond what any system takes for a path (Linux: 4096): what is longer is no list of names. */
const MAX_NAME_BYTES = 64 * 1024;

/** Splits a stream of bytes into names, each ended by a separator; the last may lack it. split2 takes 3 × the
 * time (bench/lines.ts). */
export class NameSplitter {
  readonly #separator: '\n' | '\0';
  #carry = '';

  constructor(separator: '\n' | '\0') {
    this.#separator = separator;
  }

  /** The names completed by this chunk, as latin1 strings. @throws LccError `data.malformed` at one that no
   * path can be */
  push(chunk: Buffer): string[] {
    const names = (this.#carry + chunk.toString('latin1')).split(this.#separator);
    this.#carry = names.pop() ?? '';
    if (this.#carry.length > MAX_NAME_BYTES) throw new LccError('data.malformed', tooLong(this.#separator));
    return names;
  }

  /** The name that is left at the end of the input, without a separator after it. */
  end(): string | undefined {
    const last = this.#carry;
    this.#carry = '';
    return last === '' ? undefined : last;
  }
}

function tooLong(separator: '\n' | '\0'): string {
  const [ended, advice] =
    separator === '\n'
      ? ['a newline', 'are they ended by NUL (-0), or is this another file?']
      : ['NUL', 'are they a line each (without -0), or is this another file?'];
  return `standard input: more than ${MAX_NAME_BYTES} bytes without ${ended} to end a name; ${advice}`;
}
