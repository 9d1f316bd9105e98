/** `[uns]`: the Update Notification Server. */
import { DAY, GB, HOUR, KB, MB, MINUTE, SECOND } from '../amounts.js';
import { ENDPOINT, METRICS_ENDPOINT, MIMETYPES, NAME } from '../forms.js';
import { bytes, count, list, ms, percent, text, type Section } from './rows.js';

export const UNS = {
  'uns.listen': { ...list(['127.0.0.1:9000'], 'endpoints CPs connect to', ENDPOINT), needsOne: true },
  'uns.mime': {
    ...list(['*/*'], 'mimetypes accepted into this LCC, as type/subtype or type/*', MIMETYPES),
    needsOne: true,
  },
  'uns.max_connections': count(8000, 1, 60_000, 'connections at a time'),
  'uns.max_connections_per_address': count(32, 1, 60_000, 'connections at a time from one address'),
  'uns.max_connections_per_provider': count(2, 1, 1000, 'sessions at a time of one provider'),
  'uns.login_timeout_ms': ms(10 * SECOND, 100, 10 * MINUTE, 'time from connecting to a complete init'),
  'uns.idle_timeout_ms': ms(60 * SECOND, 100, HOUR, 'time without a byte'),
  'uns.min_rate_bytes_per_s': {
    type: 'number',
    unit: 'bytes_per_s',
    default: 1 * KB,
    min: 0,
    max: 100 * MB,
    doc: 'slowest average rate while a set is open, after the first idle_timeout',
  },
  'uns.session_timeout_ms': ms(HOUR, SECOND, 7 * DAY, 'longest session'),
  'uns.max_set_urls': count(1_000_000, 1, 100_000_000, 'urls in one set'),
  'uns.max_set_bytes': bytes(GB, 1 * KB, 100 * GB, 'size of one set'),
  'uns.max_spool_bytes': bytes(
    2 * GB,
    1 * MB,
    10_000 * GB,
    'size of the spool before CPs are told to come back later',
  ),
  'uns.min_free_disk_percent': percent(
    10,
    0,
    90,
    'free space of the spool disk below which CPs are told the same; uns.min_free_disk_bytes if that is less',
  ),
  'uns.min_free_disk_bytes': bytes(
    2 * GB,
    0,
    10_000 * GB,
    'free space of the spool disk that is enough, however large the disk is',
  ),
  'uns.qm_timeout_ms': ms(
    10 * MINUTE,
    SECOND,
    DAY,
    'time for the Queue Manager to answer one set, or to read on in the middle of one',
  ),
  'uns.id': text('uns', 'name of this UNS and its spool; differs between the UNSes of one LCC_HOME', NAME),
  'uns.metrics_listen': text('', 'endpoint where the metrics of lccd-uns are read', METRICS_ENDPOINT),
} as const satisfies Section<'uns'>;
