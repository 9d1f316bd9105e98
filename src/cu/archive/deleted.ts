/**
 * Deletions in an archive that can only hold files: members `.lcc/deleted-NUMBER.txt`, a path a line, each
 * written when it is full, so that memory does not grow with the deletions. NUMBER is that of the last change
 * in it.
 */

import { tarHeader, tarPadding } from './tar.js';

const PATHS_OF_A_LIST = 1000;

export class DeletedPaths {
  #lines: string[] = [];
  #lastSeq = 0;
  #timeS = 0;

  /**
   * Adds the paths of a change, fewer than one list takes; they stand in one.
   * @param timeS when they went, seconds since 1970
   * @returns the member that is the list before, when it is full
   */
  add(paths: readonly string[], seq: number, timeS: number): Uint8Array[] {
    if (paths.length === 0) return [];
    this.#timeS = timeS;
    const full = this.#lines.length + paths.length > PATHS_OF_A_LIST ? this.take() : [];
    for (const path of paths) this.#lines.push(`${path}\n`);
    this.#lastSeq = seq;
    return full;
  }

  /** The list that has not been written yet, as a member; nothing where there is none. */
  take(): Uint8Array[] {
    if (this.#lines.length === 0) return [];
    const bytes = Buffer.from(this.#lines.join(''));
    this.#lines = [];
    const path = `.lcc/deleted-${String(this.#lastSeq).padStart(15, '0')}.txt`;
    return [tarHeader(path, bytes.length, this.#timeS), bytes, tarPadding(bytes.length)];
  }
}
