/**
 * One lcccpstate at a time on a statefile, of those on this machine: `FILE.run.PROCESS.tmp` is there while it
 * runs, and what a process that is gone has left holds nobody up. A second one would read the whole site for
 * nothing. What is sent does not depend on it (docs/design/site-state.md): where the file cannot be made, or
 * is not seen, runs overlap.
 */
import { closeSync, openSync, rmSync } from 'node:fs';
import { LccError } from '../../lib/errors.js';
import { isRunning, ownMark } from '../../lib/process-mark.js';
import { sleepSync } from '../../lib/sleep-sync.js';
import { runMarks, temporaryPath } from './kept.js';

/** Time after which, of two that saw each other, one has seen the other go. */
const LOOK_MS = 50;

/** @returns what lets it go @throws LccError `try.later` where another one runs */
export function holdState(state: string): () => void {
  const own = ownMark();
  const path = temporaryPath(state, 'run', own);
  try {
    closeSync(openSync(path, 'w', 0o644));
  } catch {
    return () => undefined;
  }
  const release = () => rmSync(path, { force: true });
  const findOther = () => runMarks(state).find(mark => mark !== own && isRunning(mark));
  let other = findOther();
  if (other !== undefined && own < other) {
    sleepSync(LOOK_MS);
    other = findOther();
  }
  if (other === undefined) return release;
  release();
  throw new LccError(
    'try.later',
    `${state}: another lcccpstate is at work on it (process ${other.split('-', 1)[0]}): nothing was done, run again when it has ended`,
  );
}
