/**
 * Stored content, trusted only after its md5 was taken (semantics.md, rule 16). It is verified before the
 * first byte is given out, because formats write the length, or a header, first: what is altered must not
 * leave half a record. Small files are read once and kept; of large ones the same descriptor is read twice,
 * so memory does not depend on their size, and a file that is freed meanwhile stays readable.
 *
 * A small file costs three calls: open, one read that asks for more than there is, close. It was all of the
 * file if the md5 says so.
 */
import { createHash, hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { nameOf } from '../db/names/naming.js';
import { errnoOf, LccError } from '../lib/errors.js';
import { CHUNK_BYTES, readChunksAt } from '../lib/stdio.js';

/** Largest content that is read in one piece and kept until it is closed. */
export const WHOLE_BYTES = 1024 * 1024;

/** Room for content that is read in one piece, one after the other: 40 MB less in memory, and 1.1 × as fast,
 * as room for each. */
export class ReadBuffer {
  #bytes: Buffer | undefined;

  /** Room for a small file, and for the end after it. */
  get bytes(): Buffer {
    return (this.#bytes ??= Buffer.allocUnsafeSlow(WHOLE_BYTES + 1));
  }
}

export interface StoredContent {
  readonly length: number;
  /**
   * The bytes in pieces, from the beginning each time. A piece may be overwritten by the next one.
   * @throws LccError `data.cut` when the file was altered since it was verified: the stream must be given up
   */
  chunks(): Generator<Buffer, void>;
  /** All bytes in one piece: for what has to be in memory as a whole, after a look at `length`. */
  bytes(): Buffer;
  close(): void;
}

type Opened = { ok: true; content: StoredContent } | { ok: false; why: string };

/** Errors by which the file itself is no use. Anything else, such as EMFILE and EACCES, passes or can be put
 * right. */
const USELESS: ReadonlySet<string> = new Set(['ENOTDIR', 'EISDIR', 'ELOOP', 'ENAMETOOLONG', 'EIO']);

/**
 * Opens and verifies a stored file; `why` says what is wrong with one that cannot be used.
 * @param md5 as the LCC DB has it, 32 hexadecimal digits
 * @param into where small content is read to: it is there until the next is opened. Default: memory of its
 * own
 * @throws LccError `try.later` where it cannot be told whether there is something wrong with it
 */
export function openStored(file: string, md5: string, into?: ReadBuffer): Opened {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch (error) {
    return { ok: false, why: errnoOf(error) === 'ENOENT' ? 'missing' : unreadable(error, file) };
  }
  let kept = false;
  try {
    const verified = verify(fd, file, md5, into?.bytes ?? roomFor(fd));
    if (verified === 'altered') return { ok: false, why: 'altered: its md5 differs' };
    if (verified !== 'large') return { ok: true, content: inMemory(verified) };
    const content = onDisk(fd, file, fstatSync(fd).size, md5);
    kept = true;
    return { ok: true, content };
  } catch (error) {
    return { ok: false, why: unreadable(error, file) };
  } finally {
    if (!kept) closeSync(fd);
  }
}

/** The same for a file that a row names: nothing outside of the store is ever opened. @param fileid its name
 * below `storeDir`, where it is one */
export function openNamed(storeDir: string, fileid: string, md5: string, into?: ReadBuffer): Opened {
  if (nameOf(fileid) === undefined) return { ok: false, why: 'no name of a store' };
  return openStored(`${storeDir}/${fileid}`, md5, into);
}

function unreadable(error: unknown, file: string): string {
  const errno = errnoOf(error instanceof LccError ? error.cause : error);
  if (errno === undefined) throw error;
  if (USELESS.has(errno)) return `not readable (${errno})`;
  throw new LccError('try.later', `${file}: cannot be read now (${errno}); put that right and run again`, {
    cause: error,
  });
}

/** Room for all of a small file, and for the end after it. */
function roomFor(fd: number): Buffer {
  return Buffer.allocUnsafe(Math.min(fstatSync(fd).size, WHOLE_BYTES) + 1);
}

/** Reads a file; the bytes of one that leaves room in the buffer. */
function verify(fd: number, file: string, md5: string, buffer: Buffer): Buffer | 'large' | 'altered' {
  // One read gives all there is, but not on every file system.
  for (let length = 0, got = -1; got !== 0;) {
    got = readSync(fd, buffer, length, buffer.length - length, length);
    if (got === 0 && length > 0) break;
    length += got;
    if (length === buffer.length) return digestOf(buffer, fd, file) === md5 ? 'large' : 'altered';
    const whole = buffer.subarray(0, length);
    if (hash('md5', whole, 'hex') === md5) return whole;
  }
  return 'altered';
}

/** The md5 of a file whose beginning has been read. */
function digestOf(beginning: Uint8Array, fd: number, file: string): string {
  const hash = createHash('md5').update(beginning);
  for (const chunk of readChunksAt(fd, beginning.length, file)) hash.update(chunk);
  return hash.digest('hex');
}

/** Content that was verified: all of it is here. */
export function inMemory(bytes: Buffer): StoredContent {
  return {
    length: bytes.length,
    *chunks() {
      if (bytes.length > 0) yield bytes;
    },
    bytes: () => bytes,
    close: () => undefined,
  };
}

/** … or in an open file, which is closed with it. @param file names it in messages */
export function onDisk(fd: number, file: string, length: number, md5: string): StoredContent {
  function* chunks(): Generator<Buffer, void> {
    const hash = createHash('md5');
    let left = length;
    for (const chunk of readChunksAt(fd, 0, file, 4 * CHUNK_BYTES)) {
      left -= chunk.length;
      if (left < 0) break;
      hash.update(chunk);
      yield chunk;
    }
    if (left !== 0 || hash.digest('hex') !== md5)
      throw new LccError('data.cut', `${file}: altered while it was read; the stream is cut here, run again`);
  }
  return {
    length,
    chunks,
    bytes() {
      const whole = Buffer.allocUnsafe(length);
      let at = 0;
      for (const chunk of chunks()) at += chunk.copy(whole, at);
      return whole;
    },
    close: () => closeSync(fd),
  };
}
