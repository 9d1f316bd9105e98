/** A look at all daemons, in the order of the work. */
import { daemonsIn, lookAt, type Look } from '../../daemon/ask.js';
import { FLOW, rankOf } from '../kinds.js';

/**
 * Asks every daemon that has, or left, a control socket below `runDir`, upstream first.
 * @param totalMs for all of them
 * @throws LccError as `daemonsIn`
 */
export function lookAround(runDir: string, totalMs?: number): Promise<Look[]> {
  const names = daemonsIn(runDir);
  return lookAt(
    runDir,
    names.toSorted((a, b) => rankOf(a, FLOW) - rankOf(b, FLOW)),
    undefined,
    totalMs,
  );
}
