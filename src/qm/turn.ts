/** What a url is when its turn to be fetched has come: it may have been deleted, and its provider changed, since it was announced. */
import type { Hours } from '../config/hours.js';
import { rowStateOf, type WaitingRow } from '../db/queue/row.js';
import type { Known } from './known-providers.js';
import type { TimeSlots } from './time-slots.js';

/**
 * One to fetch, or one that leaves its place without a request (docs/design/states.md). `later`: its own hours do not include
 * the present.
 */
export type Turn = 'fetch' | 'cancelled' | 'outside-roots' | 'later';

export function turnOf(row: WaitingRow, known: Known, hours: Hours, slots: TimeSlots): Turn {
  if (rowStateOf(row) === 'cancelled') return 'cancelled';
  // safeguard: the roots a provider has when the turn of a url comes
  if (!known.isInside(row.furl ?? row.curl)) return 'outside-roots';
  // safeguard: the hours of a url
  return slots.permits(hours) ? 'fetch' : 'later';
}
