/**
 * Deletions in an archive that can only hold files: members `.lcc/deleted-NUMBER.txt`, a path a line, each
 * written when it is full, so that memory does not grow with the deletions. NUMBER is that of the last change
 * in it.
 */

const PATHS_OF_A_LIST = 1000;

export interface DeletedList {
  path: string;
  bytes: Buffer;
}

export class DeletedPaths {
  #lines: string[] = [];
  #lastSeq = 0;

  /**
   * Adds the paths of a change, fewer than one list takes; they stand in one.
   * @returns the list before, when it is full
   */
  add(paths: readonly string[], seq: number): DeletedList | undefined {
    if (paths.length === 0) return undefined;
    const full = this.#lines.length + paths.length > PATHS_OF_A_LIST ? this.take() : undefined;
    for (const path of paths) this.#lines.push(`${path}\n`);
    this.#lastSeq = seq;
    return full;
  }

  /** The list that has not been written yet; undefined when there is nothing. */
  take(): DeletedList | undefined {
    if (this.#lines.length === 0) return undefined;
    const bytes = Buffer.from(this.#lines.join(''));
    this.#lines = [];
    return { path: `.lcc/deleted-${String(this.#lastSeq).padStart(15, '0')}.txt`, bytes };
  }
}
