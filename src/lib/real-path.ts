/** Where a path leads, also to what is not there yet. */
import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errnoOf, LccError } from './errors.js';

/** Links to what is not there that are followed one after the other, as by Linux. */
const MOST_LINKS = 40;

/**
 * The absolute path without symbolic links; the last of these may lead to what is not there.
 * @param what it is, for messages: `statefile`
 * @throws LccError `output.create` where its directory is missing; system errors
 */
export function realPath(path: string, what: string, links = 0): string {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
  let dir: string;
  try {
    dir = realpathSync(dirname(absolute));
  } catch (error) {
    throw new LccError('output.create', `${dirname(absolute)}: no such directory for a ${what}`, {
      cause: error,
    });
  }
  const beside = join(dir, basename(absolute));
  try {
    if (links < MOST_LINKS) return realPath(resolve(dir, readlinkSync(beside)), what, links + 1);
  } catch (error) {
    // EINVAL: there since, and no link.
    if (!['ENOENT', 'EINVAL'].includes(errnoOf(error) ?? '')) throw error;
  }
  return beside;
}
