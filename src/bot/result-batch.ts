/** Results go together, since each message wakes two daemons up: as many as there are requests left to fetch
 * meanwhile, within these bounds, or what has come within the delay; at once when nothing else goes on. */
import type { Clock } from '../lib/clock.js';
import type { Session } from './session-state.js';

const MIN_RESULT_BATCH = 8;
const MAX_RESULT_BATCH = 32;
const RESULT_DELAY_MS = 4;

/** @param waiting requests that wait for a slot: while they are fetched, more results come */
export function areEnough({ unsent }: Session, waiting: number): boolean {
  return unsent.length >= Math.min(Math.max(MIN_RESULT_BATCH, waiting), MAX_RESULT_BATCH);
}

/** Sends them with those that come within the delay. */
export function sendSoon(session: Session, clock: Clock): void {
  session.cancelSend ??= clock.after(RESULT_DELAY_MS, () => sendResults(session));
}

export function sendResults(session: Session): void {
  session.cancelSend?.();
  session.cancelSend = undefined;
  const results = session.unsent;
  session.unsent = [];
  for (const result of results) session.peer.fetched(result);
}
