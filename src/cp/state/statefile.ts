/** The state of a site as last accepted: sorted canonical lines. It is read as written or not at all. */
import { closeSync, fstatSync, type BigIntStats } from 'node:fs';
import { resolve } from 'node:path';
import { errnoOf, LccError, reasonOf } from '../../lib/errors.js';
import { NEWLINE, readBlocksAt, refuseLongLine } from '../../lib/line-sequences.js';
import { realPath } from '../../lib/real-path.js';
import { openRegularFile } from '../../lib/regular-file.js';
import { readChunksAt } from '../../lib/stdio.js';
import { wordsOf } from './line-hash.js';
import { identityOf } from './kept.js';
import { isStateLine } from './lines.js';

export class Statefile {
  /** Absolute; a symbolic link is followed, so that what it points to is replaced. */
  readonly path: string;
  readonly #fd: number | undefined;
  readonly #stats: BigIntStats | undefined;

  /** @throws LccError `input.missing` for a directory that is not there, `io` when it may not be read */
  constructor(path: string) {
    try {
      this.path = realPath(path, 'statefile');
    } catch (error) {
      throw error instanceof LccError ? error : unreadable(resolve(path), error);
    }
    try {
      this.#fd = openState(this.path);
      this.#stats = fstatSync(this.#fd, { bigint: true });
    } catch (error) {
      if (error instanceof LccError) throw error;
      if (errnoOf(error) !== 'ENOENT') throw unreadable(this.path, error);
    }
  }

  get exists(): boolean {
    return this.#fd !== undefined;
  }
  /** Identity of the statefile (kept.ts). */
  get id(): string {
    return this.#stats === undefined ? '' : identityOf(this.#stats);
  }
  get bytes(): number {
    return Number(this.#stats?.size ?? 0);
  }
  /** Permissions to give its successor. */
  get mode(): number {
    return this.#stats === undefined ? 0o644 : Number(this.#stats.mode) & 0o777;
  }

  /**
   * Reads the lines as bytes, checked for their order alone.
   * @param visit gets the place of a line in `bytes` and gives that of its newline, -1 where there is none
   * @returns how many there are
   * @throws LccError `data.malformed` with the line that is not in order, or cut
   */
  scan(visit: (bytes: Buffer, words: DataView, at: number) => number): number {
    if (this.#fd === undefined) return 0;
    let buffer = Buffer.allocUnsafeSlow(4 * BLOCK_BYTES);
    let filled = 0;
    let before = -1;
    let at = 0;
    let lines = 0;
    for (const chunk of readChunksAt(this.#fd, 0, this.path, BLOCK_BYTES)) {
      // Kept are the line before, to compare with, and the beginning of the next.
      const kept = before < 0 ? at : before;
      const held = buffer;
      if (filled - kept + chunk.length > buffer.length) buffer = Buffer.allocUnsafeSlow(2 * buffer.length);
      held.copy(buffer, 0, kept, filled);
      filled -= kept;
      at -= kept;
      refuseLongLine(filled - at, this.path);
      if (before >= 0) before = 0;
      filled += chunk.copy(buffer, filled);
      // Each chunk of a long line is looked at once.
      if (!chunk.includes(NEWLINE)) continue;
      const bytes = buffer.subarray(0, filled);
      const words = wordsOf(bytes);
      for (let end = visit(bytes, words, at); end >= 0; end = visit(bytes, words, at)) {
        lines += 1;
        if (before >= 0 && !isLess(bytes, words, before, at))
          throw malformed(this.path, lines, problemOf(bytes.toString('latin1', at, end)));
        before = at;
        at = end + 1;
      }
    }
    if (at < filled) throw malformed(this.path, lines + 1, 'it is cut off');
    return lines;
  }

  /**
   * The lines, each checked.
   * @throws LccError `data.malformed` with the line that is not one of a statefile, or not in order
   */
  *lines(): Generator<string, void, undefined> {
    let before = '';
    let number = 0;
    if (this.#fd === undefined) return;
    const blocks = readBlocksAt(this.#fd, 0, this.path);
    for (let block = blocks.next(); ; block = blocks.next()) {
      if (block.done === true) {
        if (block.value !== '') throw malformed(this.path, number + 1, 'it is cut off');
        return;
      }
      for (const line of block.value) {
        number += 1;
        if (!isStateLine(line)) throw malformed(this.path, number, NOT_CANONICAL);
        if (line <= before) throw malformed(this.path, number, NOT_IN_ORDER);
        before = line;
        yield line;
      }
    }
  }

  /** The bytes, unchecked. */
  *chunks(): Generator<Buffer, void, undefined> {
    if (this.#fd !== undefined) yield* readChunksAt(this.#fd, 0, this.path);
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
  }
}

/**
 * Opens a state for reading.
 * @throws system errors; LccError `io` for anything but a file
 */
export function openState(path: string): number {
  return openRegularFile(path, 'statefile');
}

const BLOCK_BYTES = 64 * 1024;
const NOT_CANONICAL = 'it is not a canonical <url .../>';
const NOT_IN_ORDER = 'it is not in order (LC_ALL=C sort -u)';

/** The problem of a line that does not sort after the one before. */
function problemOf(line: string): string {
  return isStateLine(line) ? NOT_IN_ORDER : NOT_CANONICAL;
}

/** True if the line at `a` comes before the one at `b`, which follows it: both have their newline. */
function isLess(bytes: Buffer, words: DataView, a: number, b: number): boolean {
  const length = b - a;
  const most = Math.min(length, bytes.length - b) - 4;
  let i = 0;
  while (i <= most && words.getInt32(a + i, true) === words.getInt32(b + i, true)) i += 4;
  for (; i < length; i++) {
    const difference = bytes[a + i]! - bytes[b + i]!;
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function unreadable(path: string, cause: unknown): LccError {
  return new LccError('io', `cannot read the statefile ${path}: ${reasonOf(cause)}`, {
    cause,
  });
}

function malformed(path: string, line: number, why: string): LccError {
  return new LccError(
    'data.malformed',
    `${path}:${line}: ${why}; restore the statefile, or remove it to send every url again`,
  );
}
