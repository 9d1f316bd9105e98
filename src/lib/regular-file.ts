/** Files that a user names, which are nothing else: reading a named pipe would wait for its writer. */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { LccError } from './errors.js';

/**
 * Opens a file to be read, and never waits.
 * @param what it is, for messages: `statefile`
 * @throws LccError `io` where it is a named pipe, a directory or a device; system errors
 */
export function openRegularFile(path: string, what: string): number {
  // Without O_NONBLOCK open(2) of a named pipe waits for its writer.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = fstatSync(fd);
  if (stats.isFile()) return fd;
  closeSync(fd);
  const found = stats.isFIFO() ? 'a named pipe' : stats.isDirectory() ? 'a directory' : 'a device';
  throw new LccError('io', `the ${what} ${path} is ${found}; name a file, or a path where there is none yet`);
}
