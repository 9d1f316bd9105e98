/** A body in chunks, read with the blanks that old servers write after the size of each. Whatever else is odd
 * is refused: it is the sizes that say where the body ends. */
import { fail, type FetchFailure } from './failure.js';

/** The longest size with its extension, or line of a trailer. */
const MAX_LINE_CHARS = 4096;
const SIZE = /^([\da-f]{1,12})[\t ]*(?:;.*)?$/i;

export class LenientChunks {
  #state: 'size' | 'data' | 'end' | 'trailer' = 'size';
  /** Bytes of the chunk that must still come. */
  #left = 0;
  /** The part of a line that came. */
  #line = '';

  /** @returns whether that was the end; or what is wrong */
  take(bytes: Buffer, give: (piece: Buffer) => void): boolean | FetchFailure {
    for (let at = 0; at < bytes.length;) {
      if (this.#state === 'data') {
        const piece = bytes.subarray(at, at + this.#left);
        at += piece.length;
        this.#left -= piece.length;
        if (this.#left === 0) this.#state = 'end';
        give(piece);
        continue;
      }
      const lf = bytes.indexOf('\n', at);
      const end = lf < 0 ? bytes.length : lf + 1;
      this.#line += bytes.toString('latin1', at, end);
      at = end;
      if (this.#line.length > MAX_LINE_CHARS) return fail('framing', 'an endless line among the chunks');
      if (lf < 0) return false;
      const line = this.#line;
      this.#line = '';
      if (!line.endsWith('\r\n')) return fail('framing', 'a line without CR among the chunks');
      const after = this.#next(line.slice(0, -2));
      if (typeof after !== 'string') return after;
      this.#state = after;
    }
    return false;
  }

  /** @returns what follows the line; or whether that was the end, or what is wrong */
  #next(line: string): 'size' | 'data' | 'trailer' | true | FetchFailure {
    switch (this.#state) {
      case 'size': {
        const size = SIZE.exec(line)?.[1];
        if (size === undefined) return fail('framing', 'a chunk without a size');
        this.#left = Number.parseInt(size, 16);
        return this.#left === 0 ? 'trailer' : 'data';
      }
      case 'trailer':
        return line === '' ? true : 'trailer';
      case 'data':
      case 'end':
        return line === '' ? 'size' : fail('framing', 'a chunk longer than its size');
    }
  }
}
