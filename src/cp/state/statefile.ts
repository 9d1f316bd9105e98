/** The state of a site as last accepted: sorted canonical lines. It is read as written or not at all. */
import { closeSync, fstatSync, openSync, realpathSync, type Stats } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errnoOf, LccError } from '../../lib/errors.js';
import { readChunksAt } from '../../lib/stdio.js';
import { isStateLine } from './lines.js';

export class Statefile {
  /** Absolute; a symbolic link is followed, so that what it points to is replaced. */
  readonly path: string;
  readonly #fd: number | undefined;
  readonly #stats: Stats | undefined;

  /** @throws LccError `input.missing` for a directory that is not there, `io` when it may not be read */
  constructor(path: string) {
    this.path = realPath(path);
    try {
      this.#fd = openSync(this.path, 'r');
      this.#stats = fstatSync(this.#fd);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw unreadable(this.path, error);
    }
    if (this.#stats !== undefined && !this.#stats.isFile())
      throw new LccError('io', `${this.path} is not a file`);
  }

  get exists(): boolean {
    return this.#fd !== undefined;
  }
  get bytes(): number {
    return this.#stats?.size ?? 0;
  }
  /** Permissions to give its successor. */
  get mode(): number {
    return this.#stats === undefined ? 0o644 : this.#stats.mode & 0o777;
  }

  /**
   * All of it, as it is.
   * @throws LccError `data.malformed` when the last line is cut
   */
  content(): Buffer {
    const content = Buffer.allocUnsafeSlow(this.bytes);
    let filled = 0;
    if (this.#fd !== undefined)
      for (const chunk of readChunksAt(this.#fd, 0, this.path, BLOCK_BYTES))
        filled += chunk.copy(content, filled);
    if (filled > 0 && content[filled - 1] !== NEWLINE)
      throw malformed(this.path, content.toString('latin1', 0, filled).split('\n').length, 'it is cut off');
    return content.subarray(0, filled);
  }

  /**
   * Its lines in chunks of many, unchecked but for the newline of the last.
   * @throws LccError `data.malformed` when the last is cut
   */
  *#blocks(): Generator<string[], void, undefined> {
    if (this.#fd === undefined) return;
    let carry = '';
    let lines = 0;
    for (const chunk of readChunksAt(this.#fd, 0, this.path, BLOCK_BYTES)) {
      const block = (carry + chunk.toString('latin1')).split('\n');
      carry = block.pop() ?? '';
      lines += block.length;
      yield block;
    }
    if (carry !== '') throw malformed(this.path, lines + 1, 'it is cut off');
  }

  /**
   * Its lines, each checked.
   * @throws LccError `data.malformed` with the line that is not one of a statefile, or not in order
   */
  *lines(): Generator<string, void, undefined> {
    let before = '';
    let number = 0;
    for (const block of this.#blocks()) {
      for (const line of block) {
        number += 1;
        if (!isStateLine(line)) throw malformed(this.path, number, 'it is not a canonical <url .../>');
        if (line <= before) throw malformed(this.path, number, 'it is not in order (LC_ALL=C sort -u)');
        before = line;
        yield line;
      }
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
  }
}

const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

function realPath(path: string): string {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw unreadable(absolute, error);
  }
  try {
    return join(realpathSync(dirname(absolute)), basename(absolute));
  } catch (error) {
    throw new LccError('output.create', `${dirname(absolute)}: no such directory for a statefile`, {
      cause: error,
    });
  }
}

function unreadable(path: string, cause: unknown): LccError {
  return new LccError('io', `cannot read the statefile ${path}: ${errnoOf(cause) ?? 'unknown error'}`, {
    cause,
  });
}

function malformed(path: string, line: number, why: string): LccError {
  return new LccError(
    'data.malformed',
    `${path}:${line}: ${why}; restore the statefile, or remove it to send every url again`,
  );
}
