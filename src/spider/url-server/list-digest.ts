/** A digest of the lines of a list that were read: their md5. */
import { createHash } from 'node:crypto';

export class ListDigest {
  readonly #hash = createHash('md5');

  /** @param line as `ByteLines` has it: without its end, in latin1; undefined: too long */
  add(line: string | undefined): void {
    this.#hash.update(`${line ?? '\0'}\n`, 'latin1');
  }

  /** Digest of all lines so far. */
  get hex(): string {
    return this.#hash.copy().digest('hex');
  }
}

export function digestOfLine(line: string | undefined): string {
  return createHash('md5')
    .update(line ?? 'too long', 'latin1')
    .digest('hex');
}
