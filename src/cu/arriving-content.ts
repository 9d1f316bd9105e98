/** Content that comes in pieces from another machine: in memory while it is small, else in a file without a
 * name; given out once its md5 was taken. */
import { createHash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeFully } from '../lib/stdio.js';
import { inMemory, onDisk, WHOLE_BYTES, type StoredContent } from './stored-content.js';

export class ArrivingContent {
  readonly #hash = createHash('md5');
  #pieces: Buffer[] = [];
  #length = 0;
  #fd: number | undefined;
  /** Characters that make no whole bytes yet. */
  #rest = '';

  /** A piece in base64. @throws LccError `io.full`, `io` */
  addText(text: string): void {
    const all = this.#rest + text;
    const whole = all.length - (all.length % 4);
    this.#rest = all.slice(whole);
    this.add(Buffer.from(all.slice(0, whole), 'base64'));
  }

  /** @param bytes kept, where they are few @throws LccError `io.full`, `io` */
  add(bytes: Buffer): void {
    this.#hash.update(bytes);
    this.#length += bytes.length;
    if (this.#fd !== undefined) return writeFully(this.#fd, bytes, tmpdir());
    this.#pieces.push(bytes);
    if (this.#length > WHOLE_BYTES) this.#spill();
  }

  /** All of it; undefined where it is not what it should be. @param md5 as the row has it */
  finish(md5: string): StoredContent | undefined {
    if (this.#rest !== '' || this.#hash.digest('hex') !== md5) {
      this.drop();
      return undefined;
    }
    const fd = this.#fd;
    this.#fd = undefined;
    return fd === undefined
      ? inMemory(Buffer.concat(this.#pieces))
      : onDisk(fd, 'content that was fetched', this.#length, md5);
  }

  drop(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    this.#pieces = [];
  }

  #spill(): void {
    const dir = mkdtempSync(join(tmpdir(), 'lccq-'));
    try {
      this.#fd = openSync(join(dir, 'content'), 'wx+', 0o600);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
    for (const piece of this.#pieces) writeFully(this.#fd, piece, tmpdir());
    this.#pieces = [];
  }
}
