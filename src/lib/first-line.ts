/** The first line of a file that holds a secret. */
import { closeSync, openSync, readSync } from 'node:fs';

/** Longer than any password. */
export const MAX_LINE_BYTES = 4096;

/**
 * The first line, without its end and a byte order mark; undefined when it is longer than 4096 bytes. Nothing
 * after it is needed, so that a device or a pipe without end will do.
 * @param file a path, or the number of an open file
 * @throws system errors
 */
export function firstLineOf(file: string | number): string | undefined {
  const fd = typeof file === 'number' ? file : openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(MAX_LINE_BYTES + 1);
    let length = 0;
    while (length < bytes.length && !bytes.subarray(0, length).includes('\n')) {
      const count = readSync(fd, bytes, length, bytes.length - length, null);
      if (count === 0) break;
      length += count;
    }
    const [line = ''] = bytes
      .subarray(0, length)
      .toString('utf8')
      .replace(/^\uFEFF/, '')
      .split(/\r?\n/, 1);
    return Buffer.byteLength(line) > MAX_LINE_BYTES ? undefined : line;
  } finally {
    if (typeof file === 'string') closeSync(fd);
  }
}
