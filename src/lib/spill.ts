/** A file nobody else sees: it has no name any more when it is used, so nothing remains however we end. */
import { closeSync, openSync, unlinkSync } from 'node:fs';
import { Output } from './stdio.js';
import { readLinesAt } from './line-sequences.js';

export class Spill {
  readonly #fd: number;
  readonly #out: Output;
  readonly #where: string;

  /** @param beside an existing path on a disk with room for it */
  constructor(beside: string) {
    const path = `${beside}.${process.pid}.spill`;
    this.#where = `a temporary file beside ${beside}`;
    this.#fd = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    this.#out = new Output(this.#fd, { encoding: 'latin1', where: this.#where });
  }

  /** @throws LccError `io.full`, `io` */
  write(text: string): void {
    this.#out.write(text);
  }

  /** The written lines, from the first. */
  *lines(): Generator<string, void, undefined> {
    this.#out.flush();
    yield* readLinesAt(this.#fd, 0, this.#where);
  }

  close(): void {
    closeSync(this.#fd);
  }
}
