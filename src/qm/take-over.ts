/**
 * The first start after another machine had the home (docs/design/keeping.md). Sets that it had taken half
 * never come again: their CPs were not told that they are accepted. What was taken of them is fetched, their
 * removals are not carried out.
 */
import { epochOf } from '../daemon/kept.js';
import { noteEpoch, wasElsewhere } from '../daemon/noted-epoch.js';
import type { Services } from '../daemon/types.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Log } from '../lib/log.js';
import { giveUpSet } from './close-set.js';

/** The epoch of the first owner: what it finds unfinished is its own. */
const FIRST_EPOCH = 1;

/** @throws LccError as `epochOf` */
export async function takeOver(
  store: QueueStore,
  { home, kept, told }: Pick<Services, 'home' | 'kept' | 'told'>,
  log: Log,
): Promise<void> {
  const epoch = await epochOf(kept(), told);
  if (epoch === 0) return;
  const file = `${home.db}.epoch`;
  if (wasElsewhere(file, epoch, epoch > FIRST_EPOCH)) {
    const open = store.absorb.sets.open();
    for (const state of open) store.transaction(() => giveUpSet(store, state));
    log.info('another machine had this home', { epoch, sets_given_up: open.length });
  }
  noteEpoch(file, epoch);
}
