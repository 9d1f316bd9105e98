/**
 * A consumer is not run when nothing is new; but one whose stream says how far it came, after every change.
 */
import type { Query } from './types.js';

/** True if a stream must be written, were it without a record: there are changes, and it says how far it
 * came. */
export function isReachedTold({ format, selection }: Query, reachedSeq: number): boolean {
  const since = selection.sinceSeq ?? 0;
  return (
    (format.tellsReached === true || (format.tellsBeginning === true && since === 0)) && reachedSeq > since
  );
}
