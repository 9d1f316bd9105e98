/** The bytes of a stored page, if they are what its row says. */
import { hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { errnoOf, LccError } from '../lib/errors.js';

/** Why there are none: its next change comes. */
export type NoPage = 'missing' | 'altered' | 'large';

/** What passes, and is no fault of the file. */
const FOR_NOW: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'EACCES', 'EPERM', 'ENOMEM']);

/**
 * @param md5 as the row has it; undefined: it does not say
 * @throws LccError `try.later` where it cannot be read for now: its links must not be lost
 */
export function readPage(file: string, md5: string | undefined, maxBytes: number): Buffer | NoPage {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch (error) {
    return missingOf(file, error);
  }
  try {
    const { size } = fstatSync(fd);
    if (size > maxBytes) return 'large';
    const bytes = Buffer.allocUnsafe(size + 1);
    let length = 0;
    for (let got = -1; got !== 0 && length < bytes.length; length += got)
      got = readSync(fd, bytes, length, bytes.length - length, length);
    const whole = bytes.subarray(0, length);
    return length > size || (md5 !== undefined && hash('md5', whole, 'hex') !== md5) ? 'altered' : whole;
  } catch (error) {
    return missingOf(file, error);
  } finally {
    closeSync(fd);
  }
}

/** The first bytes of it, none where it is missing. @throws as `readPage` */
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
