/** The bytes of stored pages, if they are what their rows say. */
import { hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { errnoOf, LccError } from '../lib/errors.js';
import { collectGarbage } from '../lib/memory.js';

/** Why there are none: its next change comes. */
type NoPage = 'missing' | 'altered' | 'large';

/** Errors that pass, and are no fault of the file. */
const FOR_NOW: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'EACCES', 'EPERM', 'ENOMEM']);

const LEAST_BYTES = 64 * 1024;
/** Size from which a page makes much outside of V8's heap, which sees no reason to collect it. */
const LARGE_BYTES = 1024 * 1024;
/** Most bytes of large pages that have been done with. */
const MOST_LEFT_BYTES = 4 * LARGE_BYTES;

export class StoredPages {
  readonly #maxBytes: number;
  /** For all pages, one after the other: a large one of its own for each would lie in memory until it is
   * collected. */
  #bytes = Buffer.alloc(0);
  #leftBytes = 0;

  /** @param maxBytes of a page */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * @param md5 as the row has it; undefined: it does not say
   * @returns bytes that are there until the next page is read
   * @throws LccError `try.later` where it cannot be read for now: its links must not be lost
   */
  read(file: string, md5: string | undefined): Buffer | NoPage {
    this.#tidy();
    let fd: number;
    try {
      fd = openSync(file, 'r');
    } catch (error) {
      return missingOf(file, error);
    }
    try {
      const { size } = fstatSync(fd);
      if (size > this.#maxBytes) return 'large';
      const bytes = this.#roomFor(size + 1);
      let length = 0;
      for (let got = -1; got !== 0 && length < bytes.length; length += got)
        got = readSync(fd, bytes, length, bytes.length - length, length);
      const whole = bytes.subarray(0, length);
      if (length >= LARGE_BYTES) this.#leftBytes += length;
      return length > size || (md5 !== undefined && hash('md5', whole, 'hex') !== md5) ? 'altered' : whole;
    } catch (error) {
      return missingOf(file, error);
    } finally {
      closeSync(fd);
    }
  }

  #tidy(): void {
    if (this.#leftBytes < MOST_LEFT_BYTES) return;
    collectGarbage();
    this.#leftBytes = 0;
  }

  #roomFor(length: number): Buffer {
    if (this.#bytes.length < length)
      this.#bytes = Buffer.allocUnsafeSlow(Math.max(LEAST_BYTES, Math.min(2 * length, this.#maxBytes + 1)));
    return this.#bytes.subarray(0, length);
  }
}

/** The first bytes of it, none where it is missing. @throws as `StoredPages.read` */
export function readBeginning(file: string, most: number): Buffer {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch (error) {
    missingOf(file, error);
    return Buffer.alloc(0);
  }
  try {
    const bytes = Buffer.allocUnsafe(most);
    return bytes.subarray(0, readSync(fd, bytes, 0, most, 0));
  } finally {
    closeSync(fd);
  }
}

function missingOf(file: string, error: unknown): NoPage {
  const errno = errnoOf(error);
  if (errno === undefined) throw error;
  if (FOR_NOW.has(errno))
    throw new LccError('try.later', `${file}: cannot be read now (${errno}); put that right and run again`, {
      cause: error,
    });
  return 'missing';
}
