/** What lccd-qm says of itself. */
import { machinesAway } from '../away.js';
import type { QmStatus } from '../figures.js';
import type { Dispatch } from './dispatch.js';
import type { TakingIn } from './intake.js';
import type { OpenStore } from './open-store.js';
import type { Upkeep } from './upkeep.js';

/** The status, read when it is asked for. */
export function statusOf(
  { store, fullDisk, gonePages }: OpenStore,
  { dispatcher, deletions, syncPoints, bmLinks }: Dispatch,
  { intake, unsLinks, overload }: TakingIn,
  { fsm }: Upkeep,
): () => QmStatus {
  return () => {
    const { isBusy, ...doing } = dispatcher.status();
    const held = store.held.waiting();
    return {
      idle: !isBusy && intake.open === 0 && held.decided === 0 && syncPoints.checking === 0,
      rows_queued: store.providers.waiting(),
      no_room: fullDisk.reason ?? null,
      absorbing: intake.open,
      ...doing,
      unses: unsLinks.connected,
      unses_shut_out: overload.isShut,
      bot_managers: bmLinks.status(),
      machines_refused: bmLinks.refused(),
      machines_away: machinesAway({
        stores: store.stores,
        freed: store.freed,
        fsm,
        deletions,
        links: bmLinks,
      }),
      machines_checking: syncPoints.checking,
      held_sets: held.sets,
      held_urls: held.urls,
      gone_kept_back: gonePages.pids,
      freed_waiting: store.freed.count(),
      freed_pages_spooled: fsm.entries,
      ...fsm.aside,
    };
  };
}
