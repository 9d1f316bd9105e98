/** `[qm]`: the Queue Manager. */
import { DAY, GB, HOUR, MB, MINUTE, SECOND } from '../amounts.js';
import { METRICS_ENDPOINT } from '../forms.js';
import { bytes, count, ms, percent, text, type Section } from './rows.js';

export const QM = {
  'qm.max_connections': count(1000, 1, 60_000, 'connections of UNSes at a time, and as many of Bot Managers'),
  'qm.max_queue_urls': count(5_000_000, 1, 1_000_000_000, 'urls queued at which UNSes are shut out'),
  'qm.slice_urls': count(40_000, 1, 100_000, 'most urls absorbed in one transaction'),
  'qm.lane_window': count(
    64,
    1,
    1000,
    'urls of one provider on their way to a robot at a time, fetched one by one',
  ),
  'qm.shared_window': count(
    1024,
    0,
    100_000,
    'urls on their way to a Bot Manager that its lanes share while that gives each more than lane_window',
  ),
  'qm.slots': {
    ...count(24, 24, 168, 'hours of the period that masks and tod are about: 24 = a day, 168 = a week'),
    oneOf: [24, 168],
  },
  'qm.bandwidth_bytes_per_s': {
    type: 'number',
    unit: 'bytes_per_s',
    default: 0,
    min: 0,
    max: 100 * GB,
    doc: 'fetched from all providers together; 0 = unlimited',
  },
  'qm.pace_ms': ms(
    0,
    0,
    HOUR,
    'pause between two fetches from a provider that has none of its own; 0 = none',
  ),
  'qm.group_lanes': count(2, 1, 10_000, 'fetches at a time from the providers of one group'),
  'qm.max_connections_per_host': count(8, 1, 10_000, 'fetches at a time from one host, of all robots'),
  'qm.retries': count(6, 0, 100, 'tries after the first for a url that failed temporarily'),
  'qm.retry_delay_ms': ms(10 * SECOND, 0, DAY, 'wait before a bad url is tried again'),
  'qm.backoff_min_ms': ms(10 * SECOND, 10, DAY, 'first wait of a provider whose site does not answer'),
  'qm.backoff_max_ms': ms(DAY, 10, 30 * DAY, 'longest wait of a provider whose site does not answer'),
  'qm.tombstone_ms': ms(
    90 * DAY,
    HOUR,
    10_000 * DAY,
    'time for which deletions are remembered for content users',
  ),
  'qm.fsm_page_files': count(
    10_000,
    1,
    1_000_000,
    'deletions for a machine that is away that move to spool/fsm at a time',
  ),
  'qm.fsm_away_ms': ms(MINUTE, 0, 30 * DAY, 'time for which a machine must be away before they do'),
  'qm.fsm_max_bytes': bytes(GB, 1 * MB, 10_000 * GB, 'size of spool/fsm at which they stay in lcc.db'),
  'qm.sync_interval_ms': ms(
    10 * SECOND,
    100,
    HOUR,
    'time between two sync points of a store: what came after the last is checked when its machine connects',
  ),
  'qm.check_window': count(64, 1, 10_000, 'files of a machine read at a time for that check'),
  'qm.full_set_period_ms': ms(
    30 * DAY,
    HOUR,
    10_000 * DAY,
    'period in which fullsetsallowed full sets may be sent',
  ),
  'qm.old_files_ms': ms(
    90 * DAY,
    0,
    10_000 * DAY,
    'silence of a provider after which it is asked for a full set; 0 = never',
  ),
  'qm.expire_ms': ms(
    0,
    0,
    10_000 * DAY,
    'time after which content that nobody confirmed is removed; 0 = never',
  ),
  'qm.fuse_percent': percent(
    50,
    0,
    100,
    "share of a provider's content above which a set may not remove it unconfirmed; 100 = never held",
  ),
  'qm.fuse_urls': count(
    1000,
    0,
    1_000_000_000,
    'number of urls above which a set may not remove them unconfirmed',
  ),
  'qm.metrics_listen': text('', 'endpoint where the metrics of lccd-qm are read', METRICS_ENDPOINT),
} as const satisfies Section<'qm'>;
