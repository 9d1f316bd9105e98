/** The end of a set and of a session, as the database has them. Each inside a transaction. */
import type { SetState } from '../db/queue/absorbed.js';
import { NOW_SLOT, type WaitingSet } from '../db/queue/sets.js';
import type { QueueStore } from '../db/queue/store.js';
import type { SessionNote } from '../wire/uns-qm.js';

/** Makes a set complete and, if it has rows, visible to the scheduler. */
export function closeSet(store: QueueStore, state: SetState): WaitingSet | undefined {
  store.absorb.complete(state);
  return showSet(store, state);
}

/** Makes a set visible to the scheduler, if it has rows. */
export function showSet(store: QueueStore, state: SetState): WaitingSet | undefined {
  const { psetid, pid, firstpos, lastpos } = state;
  const setClass = store.queue.classOf({ slot: NOW_SLOT, firstpos, lastpos });
  if (setClass === undefined) return undefined;
  const set = { psetid, slot: NOW_SLOT, pid, firstpos, lastpos, class: setClass };
  store.queue.addSet(set);
  return set;
}

/** Closes a set of which no more can be read; its provider is asked for all it has. */
export function giveUpSet(store: QueueStore, state: SetState): WaitingSet | undefined {
  store.held.abandon(state.psetid);
  return closeSet(store, state);
}

export function noteSession(store: QueueStore, session: SessionNote, nowS: number): void {
  store.providers.noteSession(session, nowS);
  store.errors.delivered(session.pid, session.errseen);
}
