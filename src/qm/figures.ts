/** The figures of lccd-qm. */
import { amount } from '../config/words.js';
import {
  counter,
  countOf,
  field,
  figureOf,
  gauge,
  gaugeOf,
  some,
  someThat,
  type Status,
  type StatusOf,
} from '../daemon/figures.js';
import { ofForeign } from '../daemon/reasons.js';
import type { AwayMachine } from './machines-away.js';
import {
  ofBandwidth,
  ofGonePages,
  ofLogins,
  ofLongLog,
  ofLostLogins,
  ofMachinesAway,
  ofMachinesRefused,
  ofManagers,
  ofPagesAside,
  ofRoom,
  ofUnpermitted,
} from './reasons.js';

const FETCHED = {
  name: 'lcc_qm_fetched_total',
  label: 'result',
  help: 'Fetches done, by result: stored, unchanged, redirect (of what nobody announced), error (told to the provider), retry (failed for now)',
};

const AUDITED = {
  name: 'lcc_qm_audited_urls_total',
  label: 'result',
  help: 'Urls of audits that are settled, by result: true (as announced), late (announced after the audit had asked), silent (changed without a word: 616 for the provider), dead (gone without a word: 617), failed (says nothing; another is drawn)',
};
const AUDITS = {
  name: 'lcc_qm_audits_total',
  label: 'result',
  help: 'Audits of providers that are over, by result: clean, silent (at least one url had changed or gone without a word)',
};
const SCORES = {
  name: 'lcc_qm_truth_providers',
  label: 'score',
  help: 'Providers by the truthfulness of what they announce: low (below 50), fair (50 to 79), good (80 and more), unknown (nothing counted); as of the start or of the last daily look',
};

export const QM_FIGURES = {
  bot_managers: gauge<readonly object[]>('lcc_qm_bot_managers', 'Bot Managers connected', {
    reasons: ofManagers,
  }),
  machines_refused: field<readonly { machine: string; at_ms: number; reason: string }[]>({
    reasons: ofMachinesRefused,
  }),
  machines_away: field<readonly AwayMachine[]>({ reasons: ofMachinesAway }),
  machines_checking: field<number>(),
  logins_refused: field<readonly number[]>({ reasons: ofLogins }),
  logins_lost: field<readonly number[]>({ reasons: ofLostLogins }),
  no_room: field<string | null>({ reasons: ofRoom }),
  log_bytes: field<number>({ reasons: ofLongLog }),
  rows_queued: gauge('lcc_qm_queue_urls', 'Urls queued', count =>
    count === 0 ? 'nothing queued' : `${amount(count, 'url')} queued`,
  ),
  rows_later: field<number>(someThat('of them for another hour')),
  in_flight: gauge(
    'lcc_qm_in_flight_urls',
    'Urls being fetched, or fetched and not yet written down',
    sentToMachines,
  ),
  results_waiting: field<number>(someThat('of them fetched and not yet written')),
  sets: gauge('lcc_qm_queue_sets', 'Sets with urls queued'),
  providers: gauge('lcc_qm_queue_providers', 'Providers with urls queued'),
  providers_waiting: gauge(
    'lcc_qm_providers_waiting',
    'Providers that could be fetched from and wait for a slot',
  ),
  providers_delayed: gauge(
    'lcc_qm_providers_delayed',
    'Providers with urls queued that wait for back-off, bandwidth or pace',
  ),
  providers_parked: gauge(
    'lcc_qm_providers_parked',
    'Providers that could be fetched from and wait for a place at their host',
  ),
  providers_closed: gauge(
    'lcc_qm_providers_closed',
    'Providers with urls queued that are closed at this hour',
  ),
  providers_never_open: field<number>(),
  held_sets: field<number>(),
  held_urls: gauge('lcc_qm_held_urls', 'Removals that the mass-delete fuse holds back'),
  gone_kept_back: field<readonly number[]>({ reasons: ofGonePages }),
  absorbing: gauge(
    'lcc_qm_absorbing_sets',
    'Sets being absorbed',
    some('set being absorbed', 'sets being absorbed'),
  ),
  lanes: gauge('lcc_qm_lanes', 'Lanes in use'),
  lanes_by_priority: field<readonly number[]>(),
  lanes_unasked: field<number>(),
  retry_at_ms: field<number | null>(),
  stored: countOf(FETCHED, 'stored', (_stored, status) => fetchedSince(status)),
  unchanged: countOf(FETCHED, 'unchanged'),
  redirects: countOf(FETCHED, 'redirect'),
  errors: countOf(FETCHED, 'error'),
  retries: countOf(FETCHED, 'retry'),
  robots_asked: counter(
    'lcc_qm_robots_asked_total',
    'Requests for a robots.txt, before urls that nobody announced',
  ),
  robots_forbidden: counter(
    'lcc_qm_robots_forbidden_total',
    'Urls that nobody announced and robots.txt forbids, for which nothing was sent',
  ),
  unpermitted: counter(
    'lcc_qm_unpermitted_total',
    'Fetches that robots refused because the LCC is not permitted to fetch from that address',
    { reasons: ofUnpermitted },
  ),
  unpermitted_at_ms: field<number | null>(),
  truth_low: gaugeOf(SCORES, 'low'),
  truth_fair: gaugeOf(SCORES, 'fair'),
  truth_good: gaugeOf(SCORES, 'good'),
  truth_unknown: gaugeOf(SCORES, 'unknown'),
  audited_true: countOf(AUDITED, 'true'),
  audited_late: countOf(AUDITED, 'late'),
  audited_silent: countOf(AUDITED, 'silent'),
  audited_dead: countOf(AUDITED, 'dead'),
  audited_failed: countOf(AUDITED, 'failed'),
  audits_clean: countOf(AUDITS, 'clean'),
  audits_silent: countOf(AUDITS, 'silent'),
  wire_bytes: counter('lcc_qm_wire_bytes_total', 'Bytes received from sites, headers included'),
  unses: gauge('lcc_qm_unses', 'UNSes connected'),
  unses_shut_out: gauge<boolean>(
    'lcc_qm_unses_shut_out',
    'Whether the queue is full and UNSes have to wait: 1 or 0',
  ),
  freed_waiting: gauge(
    'lcc_qm_freed_files',
    'Files no longer needed that are still to be deleted',
    some('file to be deleted', 'files to be deleted'),
  ),
  freed_pages_spooled: field<number>(),
  freed_pages_bad: field<number>({ reasons: ofPagesAside }),
  foreign_files: field<number>({ reasons: status => ofForeign(status, 'spool/fsm') }),
  bandwidth_due_at_ms: field<number | null>({ reasons: ofBandwidth }),
};

export type QmStatus = StatusOf<typeof QM_FIGURES>;

function sentToMachines(inFlight: number, qm: Status): string {
  const sent = inFlight - figureOf(qm, 'results_waiting');
  return sent <= 0 ? '' : `${sent} of them sent to machines`;
}

function fetchedSince(qm: Status): string {
  const kinds = [
    ['stored', 'stored', 'stored'],
    ['unchanged', 'unchanged', 'unchanged'],
    ['redirects', 'redirect', 'redirects'],
    ['errors', 'error', 'errors'],
    ['retries', 'failure to be tried again', 'failures to be tried again'],
  ] as const;
  const words = kinds
    .map(([field, one, many]) => some(one, many)(figureOf(qm, field), qm, []))
    .filter(word => word !== '');
  return words.length === 0 ? '' : `${words.join(' + ')} since the start`;
}
