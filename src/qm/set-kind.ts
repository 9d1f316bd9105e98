/** The class of a set that is taken, and the flags of its rows besides those of the class. */
import type { SetState } from '../db/queue/absorbed.js';
import { FLAG_FEED } from '../db/queue/row.js';
import { NOW_SLOT } from '../db/queue/sets.js';
import type { QueueStore } from '../db/queue/store.js';
import { classOf, isPush, SLOW_PUSH, type SetClass } from '../wire/origin.js';
import type { SetHead } from '../wire/uns-qm.js';

/** @param state of one that goes on: all rows of a set are of one class @param nowS seconds since 1970 */
export function kindOf(
  store: QueueStore,
  { origin, pid }: Pick<SetHead, 'origin' | 'pid'>,
  state: SetState | undefined,
  nowS: number,
): { class: SetClass; flags: number } {
  if (!isPush(origin)) return { class: classOf(origin), flags: 0 };
  const isFeed = origin === 'push-feed';
  const begun = state && store.queue.classOf({ ...state, slot: NOW_SLOT });
  const isSlow = store.pushes.isSlow(pid, isFeed ? 'feed' : 'indexnow', nowS);
  return { class: begun ?? (isSlow ? SLOW_PUSH : classOf(origin)), flags: isFeed ? FLAG_FEED : 0 };
}
