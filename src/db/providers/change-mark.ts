/**
 * Tells processes that do not read lcc.db that what the logins of a provider hang on may be another: its password, whether it is enabled,
 * whether it leaves. A file beside the sockets that only grows, a byte with each change, and never shrinks.
 *
 *     who changes:  commit ──▶ a byte ──▶ "done"
 *     who asks:     size ──▶ question to the Queue Manager ──▶ answer: holds as long as the size is the same
 *
 * A change that somebody was told of has its byte: with the same size, it was before the question. The Queue Manager makes the file,
 * and adds a byte at each start; without the file nothing may be remembered.
 */
import { appendFileSync, closeSync, constants, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, LccError, messageOf } from '../../lib/errors.js';

const NAME = 'logins.changes';

/** @param run folder of the sockets @throws LccError `io` */
export function makeChangeMark(run: string): void {
  const path = join(run, NAME);
  try {
    appendFileSync(path, '.');
  } catch (error) {
    throw new LccError('io', `${path}: ${messageOf(error)}; lccd-qm has to write there`, { cause: error });
  }
}

/** After a commit, before anybody is told. @returns what is wrong when it could not be written */
export function moveChangeMark(run: string): string | undefined {
  const path = join(run, NAME);
  try {
    const fd = openSync(path, constants.O_WRONLY | constants.O_APPEND);
    try {
      writeSync(fd, '.');
    } finally {
      closeSync(fd);
    }
    return undefined;
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? undefined : `${path}: ${messageOf(error)}`;
  }
}

/** Reads the mark: the same one as before, and nothing has changed between. Undefined: not known. */
export function changeMarkOf(run: string): () => string | undefined {
  const path = join(run, NAME);
  return () => {
    try {
      const stats = statSync(path, { throwIfNoEntry: false });
      return stats === undefined ? undefined : `${stats.ino} ${stats.size}`;
    } catch {
      return undefined;
    }
  };
}
