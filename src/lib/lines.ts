/** Lines of text out of bytes as they arrive, for line protocols: split2, fed and emptied in step. */
import type { Transform } from 'node:stream';
import split2 from 'split2';

export class Lines {
  readonly #splitter: Transform;
  readonly #maxLength: number;
  readonly #tooLong: () => Error;

  /** @param maxLength characters of a line */
  constructor(maxLength: number, tooLong: () => Error) {
    this.#splitter = split2({ maxLength });
    // The error is looked at after each piece.
    this.#splitter.on('error', () => undefined);
    this.#maxLength = maxLength;
    this.#tooLong = tooLong;
  }

  /** The lines that the next bytes complete, without their ends. @throws `tooLong`, also for one that has no
   * end yet */
  read(bytes: Uint8Array): string[] {
    const lines: string[] = [];
    this.#splitter.write(bytes);
    for (let line; (line = this.#splitter.read() as string | null) !== null; lines.push(line))
      if (line.length > this.#maxLength) throw this.#tooLong();
    if (this.#splitter.errored !== null) throw this.#tooLong();
    return lines;
  }
}
