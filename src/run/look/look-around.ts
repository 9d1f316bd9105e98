/** A look at all daemons, in the order of the work. */
import { daemonsIn, lookAt, type Look } from '../../daemon/ask.js';
import { FLOW, rankOf } from '../kinds.js';

/**
 * Asks every daemon that has, or left, a control socket below `runDir`, upstream first.
 * @param isAsked by name; all of them where it is left out
 * @throws LccError as `daemonsIn`
 */
export function lookAround(runDir: string, isAsked: (name: string) => boolean = () => true): Promise<Look[]> {
  const names = daemonsIn(runDir).filter(isAsked);
  return lookAt(
    runDir,
    names.toSorted((a, b) => rankOf(a, FLOW) - rankOf(b, FLOW)),
  );
}
