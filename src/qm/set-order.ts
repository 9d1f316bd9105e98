/**
 * The order of one provider's sets when it uses several UNSes (docs/design/sessions.md). A set is absorbed
 * only when it is known to have been accepted later than the last one that was:
 *
 *     the same UNS            a spool hands over in the order of acceptance
 *     `after`                 when it was accepted, the last one was in the queue already
 *     `newest`, `numbering`   when it was accepted, a connection had begun after the last one's acceptance
 *
 * Any other would undo what is newer, or may: nothing of it is applied, and the provider is asked for all it
 * has.
 */
import type { SetState } from '../db/queue/absorbed.js';
import type { LatestSet } from '../db/providers/provider-store.js';
import type { WaitingSet } from '../db/queue/sets.js';
import type { QueueStore } from '../db/queue/store.js';
import type { SetHead } from '../wire/uns-qm.js';
import { giveUpSet, noteSession } from './close-set.js';

export function isLater(
  { after, newest, numbering, origin }: Pick<SetHead, 'after' | 'newest' | 'numbering' | 'origin'>,
  uns: string,
  last: LatestSet | undefined,
): boolean {
  // Urls that nobody announced undo nothing, whenever they come.
  if (origin !== undefined) return true;
  if (last === undefined || last.psetid <= after || last.uns === uns) return true;
  // safeguard: what may be older than the last set being passed over
  return numbering !== '' && numbering === last.numbering && newest > last.newest;
}

/** Remembers a set that is not applied, so that it is answered alike when it comes again. Inside a
 * transaction. */
export function passOver(
  store: QueueStore,
  state: SetState,
  head: SetHead,
  nowS: number,
): WaitingSet | undefined {
  store.absorb.sets.save(state);
  const set = giveUpSet(store, state);
  store.providers.wantFullSet('order', head.pid);
  noteSession(store, head, nowS);
  return set;
}

export type SetRefusal = { code: number; reason: string };

/** Sets of providers that nothing is taken of. */
export function whyRefused({ moving, providers }: QueueStore, pid: number): SetRefusal | undefined {
  if (moving.wayOf(pid) !== undefined)
    return { code: 102, reason: `provider ${pid} moves to another home, try again later` };
  return providers.has(pid) ? undefined : { code: 101, reason: `provider ${pid} is unknown` };
}
