/**
 * A source that is lost: what becomes of the names in the store that its requests had.
 *
 *   content, the source is there     reported   the file stays under its name
 *   content, the source is lost      discarded  nobody would ever note it
 *   none, the robot may still write  discarded  the name is used up
 *   none                             given back the name was never used
 *
 * Content that was reported before the source was lost stays, whether it was noted or not: a file without a
 * row is found by lccfsck, a row without a file would be damage.
 */
type NameOutcome = 'reported' | 'discarded' | 'given back';

/** @param isTainted a robot vanished over the request */
export function outcomeOfName(hasContent: boolean, isSourceLost: boolean, isTainted: boolean): NameOutcome {
  if (hasContent) return isSourceLost ? 'discarded' : 'reported';
  return isTainted ? 'discarded' : 'given back';
}
