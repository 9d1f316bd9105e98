/** Traffic from UNSes: their connections, and the sets that are absorbed. */
import { xmlLimitsOf } from '../../config/limits.js';
import type { Bound, Services } from '../../daemon/types.js';
import type { Endpoint } from '../../lib/endpoint.js';
import { errorElement, HELLO_TIMEOUT_MS } from '../../wire/messages.js';
import { Intake } from '../intake.js';
import { Overload } from '../overload.js';
import { UnsLinks } from '../uns-links.js';
import type { Dispatch } from './dispatch.js';
import type { OpenStore } from './open-store.js';

/** Bot Managers have places of their own: neither kind can keep the other out. */
const PLACES: Bound = { key: 'qm.max_connections', whose: 'UNSes', machines: true, say: errorElement };

/** Share of `qm.max_queue_urls` below which UNSes are let in again. */
const REOPEN_PERCENT = 80;

export type TakingIn = ReturnType<typeof intakeOf>;

export function intakeOf(
  services: Services,
  endpoints: readonly Endpoint[],
  { store, duty, checkpoints, logBrake, failed }: OpenStore,
  { dispatcher, deletions }: Dispatch,
) {
  const { settings, clock, log } = services;
  const intake = new Intake({
    duty,
    store,
    clock,
    log,
    fuse: { percent: settings.qm.fusePercent, urls: settings.qm.fuseUrls },
    sliceUrls: settings.qm.sliceUrls,
    fullSetPeriodMs: settings.qm.fullSetPeriodMs,
    mayCommit: () => logBrake.off(),
    isFetching: () => dispatcher.isFetching,
    pagesWritten: () => checkpoints.written,
    onSet: (set, fromPos) => dispatcher.addSet(set, fromPos),
    onCommit: (pid, haveChanged) => {
      deletions.pump();
      dispatcher.resubmitted(pid, haveChanged);
    },
  });
  const overload = new Overload({
    clock,
    log,
    queued: () => store.providers.waiting() - store.absorb.sets.unfinished(),
    maxQueued: settings.qm.maxQueueUrls,
    reopenPercent: REOPEN_PERCENT,
  });
  const unsLinks = new UnsLinks({
    intake,
    endpoints,
    listen: (endpoint, onConnection) => services.listen(endpoint, onConnection, PLACES),
    clock,
    log,
    xml: xmlLimitsOf(settings.xml),
    ...settings.wire,
    helloTimeoutMs: HELLO_TIMEOUT_MS,
    overload,
    kept: services.kept(),
    mayCommit: () => logBrake.off(),
    failed,
  });
  return { intake, unsLinks, overload };
}
