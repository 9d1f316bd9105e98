/** The figures of lccd-rs. */
import { amount, formatUntil } from '../config/words.js';
import { MOST_COUNTED } from '../db/rs/push.js';
import { counter, countOf, field, gauge, some, type StatusOf } from '../daemon/figures.js';

const PUSHES = {
  name: 'lcc_rs_hub_pushes_total',
  help: 'Pushes of hubs, by whether their signature is right',
  label: 'signature',
};

export const RS_FIGURES = {
  qm_connected: gauge<boolean>('lcc_rs_qm_connected', 'Whether the Queue Manager is connected: 1 or 0', {
    reasons: ({ qm_connected: isConnected, operations_waiting: waiting }) =>
      isConnected === false &&
      Number(waiting) > 0 &&
      `${amount(Number(waiting), 'change of a provider waits', 'changes of providers wait')} for lccd-qm, which lccd-rs cannot reach`,
  }),
  operations_later: field<string | null>({
    reasons: ({ operations_later: later }) =>
      typeof later === 'string' && `lccd-qm lets changes of providers wait: ${later}`,
  }),
  pairs_open: gauge('lcc_rs_open_pairs', 'Pairs that are neither proven nor over', some('open pair')),
  checks: gauge('lcc_rs_checks', 'Checks of sites under way', some('check')),
  sites_waiting: gauge('lcc_rs_waiting_sites', 'Proven sites that wait for the operator', {
    word: some('site waits for approval', 'sites wait for approval'),
    reasons: ({ sites_waiting: count }) =>
      Number(count) > 0 && `${amount(Number(count), 'site waits', 'sites wait')} for approval; lccrs list`,
  }),
  sites_applying: gauge(
    'lcc_rs_applying_sites',
    'Sites that the Queue Manager has not confirmed as providers',
  ),
  operations_waiting: gauge(
    'lcc_rs_waiting_operations',
    'Changes of providers that the Queue Manager has not answered',
    some('change of a provider to be made', 'changes of providers to be made'),
  ),
  registered: gauge(
    'lcc_rs_registered_providers',
    'Providers that registered by themselves',
    some('provider registered', 'providers registered'),
  ),
  pushes_waiting: gauge(
    'lcc_rs_waiting_pushes',
    `Urls that were pushed and wait for the UNS, or for the end of their interval; at most ${MOST_COUNTED} are counted`,
    some('pushed url waits', 'pushed urls wait'),
  ),
  pushes_taken: counter('lcc_rs_pushes_total', 'Urls that were pushed and taken, and pings'),
  pushes_refused: counter('lcc_rs_refused_pushes_total', 'Urls that were pushed and refused, and pings'),
  push_due_ms: field<number | null>({
    reasons: ({ push_due_ms: dueMs, pushes_waiting: count }, nowMs) =>
      Number(dueMs) > nowMs &&
      `${amount(Number(count), 'pushed url waits', 'pushed urls wait')} for the end of push.url_interval_ms, the first at ${formatUntil(Number(dueMs), nowMs)}`,
  }),
  push_trouble: field<string | null>({
    reasons: ({ push_trouble: trouble, pushes_waiting: count }) =>
      typeof trouble === 'string' &&
      Number(count) > 0 &&
      `${amount(Number(count), 'pushed url waits', 'pushed urls wait')} for lccd-uns: ${trouble}`,
  }),
  mails_waiting: gauge(
    'lcc_rs_waiting_mails',
    'Mails that the server has not taken',
    some('mail to be sent', 'mails to be sent'),
  ),
  mail_trouble: field<string | null>({
    reasons: ({ mail_trouble: trouble, mails_waiting: count }) =>
      typeof trouble === 'string' &&
      Number(count) > 0 &&
      `${amount(Number(count), 'mail waits', 'mails wait')} for the server of rs.smtp: ${trouble}`,
  }),
  no_room: field<string | null>({
    reasons: ({ no_room: noRoom }) => typeof noRoom === 'string' && `sites cannot register: ${noRoom}`,
  }),
  feeds: gauge('lcc_rs_feeds', 'Feeds of providers that are polled', some('feed')),
  feeds_failing: gauge('lcc_rs_failing_feeds', 'Feeds that cannot be read, or may not be asked', {
    reasons: ({ feeds_failing: failing }) =>
      Number(failing) > 0 &&
      `${amount(Number(failing), 'feed cannot be read', 'feeds cannot be read')}; lccrs feed list`,
  }),
  hub_pushes: countOf(PUSHES, 'signed'),
  hub_pushes_unsigned: countOf(PUSHES, 'unsigned'),
  listens: field<readonly string[]>(),
};

export type RsStatus = StatusOf<typeof RS_FIGURES>;
