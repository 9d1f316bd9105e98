/** Status of lccd-qm. */
import { statSync } from 'node:fs';
import { machinesAway } from '../machines-away.js';
import type { QmStatus } from '../figures.js';
import type { Dispatch } from './dispatch.js';
import type { TakingIn } from './intake.js';
import type { OpenStore } from './open-store.js';
import type { Upkeep } from './upkeep.js';

/** The status, read when it is asked for. */
export function statusOf(
  { db, store, fullDisk, gonePages }: OpenStore,
  { dispatcher, errands, syncPoints, bmLinks }: Dispatch,
  { intake, unsLinks, overload }: TakingIn,
  { fsm, truthEffects }: Upkeep,
): () => QmStatus {
  return () => {
    const { isBusy, ...doing } = dispatcher.status();
    const held = store.held.waiting();
    const { totals } = store.audits;
    const scores = truthEffects.providers;
    return {
      idle: !isBusy && intake.open === 0 && held.decided === 0 && syncPoints.checking === 0,
      rows_queued: store.providers.waiting(),
      no_room: fullDisk.reason ?? null,
      log_bytes: statSync(`${db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0,
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
        errands,
        links: bmLinks,
      }),
      machines_checking: syncPoints.checking,
      held_sets: held.sets,
      held_urls: held.urls,
      gone_kept_back: gonePages.pids,
      truth_low: scores.low,
      truth_fair: scores.fair,
      truth_good: scores.good,
      truth_unknown: scores.unknown,
      audited_true: totals.true,
      audited_late: totals.late,
      audited_silent: totals.silent,
      audited_dead: totals.dead,
      audited_failed: totals.failed,
      audits_clean: totals.clean,
      audits_silent: totals.silentAudits,
      freed_waiting: store.freed.count(),
      freed_pages_spooled: fsm.entries,
      ...fsm.aside,
    };
  };
}
