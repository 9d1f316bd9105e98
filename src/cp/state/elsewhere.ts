/** A state that is kept on another machine than the one that delivers its set. */
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { errnoOf } from '../../lib/errors.js';
import { keptSets, statefileId } from './kept.js';

/** The state that the set of a stream leads to, as the first line of the stream names it. */
export interface NamedState {
  /** The statefile, absolute. */
  state: string;
  /** '' when it is its own successor: there is nothing to commit then. */
  id: string;
  /** Identity of the statefile it was made from; '' where there was none. */
  base: string;
  /** Where lcccpstate ran. */
  host?: string | undefined;
}

/** True if a state is on another machine: it is not here, and lcccpstate ran there. Machines may have one
 * name; a folder that is not here settles it. */
export function isElsewhere({ state, id, base, host }: NamedState): boolean {
  if (host === undefined) return false;
  if (!existsSync(dirname(state))) return true;
  if (host === hostname()) return false;
  try {
    const isHere = id === '' ? statefileId(state) === base : keptSets(state).some(set => set.id === id);
    return !isHere;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return true;
    throw error;
  }
}
