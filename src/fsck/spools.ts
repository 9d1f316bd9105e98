/** Entries of spools, frame by frame. Damaged ones are left to the daemon that serves the spool: it knows
 * what was promised, asks the provider for a full set, and sets the entry aside. */
import { lstatSync, readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, LccError } from '../lib/errors.js';
import { isSpoolName, spooledLabel } from '../lib/spool.js';
import { Lines } from '../lib/lines.js';
import { readFrames } from '../lib/spool-frames.js';
import { remaining, type CheckContext, type Finding } from './types.js';

/** Far more than a file id has. */
const MAX_LINE_LENGTH = 4096;

export function* spools({ unsSpoolDir, fsmSpoolDir }: CheckContext): Generator<Finding> {
  const spoolsThere = [
    ...namesIn(unsSpoolDir).map(id => [join(unsSpoolDir, id), `spool/uns/${id}`, 'lccd-uns'] as const),
    [fsmSpoolDir, 'spool/fsm', 'lccd-qm'] as const,
  ];
  for (const [dir, name, served] of spoolsThere) {
    for (const entry of namesIn(join(dir, 'new'))) {
      const problem = problemOf(join(dir, 'new', entry));
      if (problem === undefined) continue;
      const when = isSpoolName(entry) ? 'comes to it' : 'starts, for it is no entry';
      const what = `${problem}; ${served} sets it aside when it ${when}`;
      yield remaining('spool', `${name}/new/${entry}`, what);
    }
  }
}

/** Files that entries of spool/fsm name for a machine; what is damaged names none. */
export function* spooledDeletions(fsmSpoolDir: string, machineId: string): Generator<string, void> {
  for (const entry of namesIn(join(fsmSpoolDir, 'new'))) {
    if (spooledLabel(entry) !== machineId) continue;
    const path = join(fsmSpoolDir, 'new', entry);
    if (problemOf(path) !== undefined) continue;
    const tooLong = () =>
      new LccError('data.malformed', `${path}: a line of more than ${MAX_LINE_LENGTH} characters`);
    const lines = new Lines(MAX_LINE_LENGTH, tooLong);
    let isHeader = true;
    for (const frame of readFrames(path)) {
      if (!isHeader) yield* lines.read(frame);
      isHeader = false;
    }
  }
}

/** Removes the entries of spool/fsm for a machine: none of the files they name is there any more. @returns
 * how many */
export function dropSpooledDeletions(fsmSpoolDir: string, machineId: string): number {
  const dir = join(fsmSpoolDir, 'new');
  const pages = namesIn(dir).filter(entry => spooledLabel(entry) === machineId);
  for (const entry of pages) unlinkSync(join(dir, entry));
  return pages.length;
}

function problemOf(path: string): string | undefined {
  try {
    // Also a pipe, which would be waited for.
    if (!lstatSync(path).isFile()) return 'not a file';
    for (const _frame of readFrames(path));
    return undefined;
  } catch (error) {
    // Delivered meanwhile.
    if (errnoOf(error) === 'ENOENT') return undefined;
    if (!(error instanceof LccError)) throw error;
    return error.message.slice(error.message.indexOf(': ') + 2);
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir).toSorted();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}
