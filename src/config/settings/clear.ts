/** `[clear]`: cache clearing. */
import { DAY, GB, HOUR, MB, MINUTE, SECOND } from '../amounts.js';
import { METRICS_ENDPOINT } from '../forms.js';
import { bytes, count, flag, ms, text, type Section } from './rows.js';

export const CLEAR = {
  'clear.enabled': flag(false, 'lccd starts lccd-hard and lccd-soft'),
  'clear.poll_ms': ms(
    SECOND,
    10,
    HOUR,
    'the queue is looked at this often, besides whenever the database is written to',
  ),
  'clear.window_requests': count(10_000, 1, 1_000_000, 'requests in memory; more wait in the database'),
  'clear.max_queued': count(
    1_000_000,
    1,
    1_000_000_000,
    'requests in the queue at which lccclear reads no more, until there are fewer',
  ),
  'clear.utf8': flag(false, 'content ids may have letters of any script, which are percent-encoded'),
  'clear.dedupe': {
    type: 'string',
    default: 'watermark',
    oneOf: ['watermark', 'paper'],
    doc: 'equal requests that are done together: those there before anything is sent, or all',
  },
  'clear.rebound_ms': ms(0, 0, HOUR, 'every clearing is sent once more after this time; 0 = it is not'),
  'clear.commit_requests': count(256, 1, 100_000, 'requests that are done, noted in one transaction'),
  'clear.refresh_ms': ms(SECOND, 10, HOUR, 'rails, targets and rules are read this often'),
  'clear.connect_timeout_ms': ms(3 * SECOND, 10, 10 * MINUTE, 'time to connect to a rail'),
  'clear.answer_timeout_ms': ms(
    10 * SECOND,
    10,
    HOUR,
    'time for a rail to answer, or between two bytes of that',
  ),
  'clear.total_timeout_ms': ms(MINUTE, 10, HOUR, 'one request, from first to last'),
  'clear.backoff_min_ms': ms(250, 1, HOUR, 'wait before a page is tried again on a rail, doubled each time'),
  'clear.backoff_max_ms': ms(MINUTE, 1, DAY, 'longest such wait'),
  'clear.park_after': count(10, 1, 1000, 'tries after which a page is left to the backlog of its rail'),
  'clear.backlog_retry_ms': ms(MINUTE, 10, DAY, 'wait before what failed is tried again from a backlog'),
  'clear.backlog_max_age_ms': ms(
    0,
    0,
    3650 * DAY,
    'age at which what fails in a backlog is given up, and shown as dead; 0 = never',
  ),
  'clear.database_timeout_ms': ms(
    MINUTE,
    SECOND,
    DAY,
    'time for which the database may not be written to before a daemon ends with 75',
  ),
  'clear.grace_ms': ms(8 * SECOND, 0, HOUR, 'time for what is under way when a daemon is told to stop'),
  'clear.journal_ms': ms(DAY, 0, 3650 * DAY, 'time for which is kept what was cleared, for lccrail resync'),
  'clear.allow_plain': flag(false, 'rails with http:// urls on addresses other than loopback'),
  'clear.secrets_file': text('', 'logins of rails; empty: clear/secrets.toml below $LCC_HOME'),
  'clear.hard_metrics_listen': text('', 'endpoint where the metrics of lccd-hard are read', METRICS_ENDPOINT),
  'clear.soft_max_page_bytes': bytes(16 * MB, 1, GB, 'content of a page'),
  'clear.soft_must_match': text(
    '',
    'regular expression that a page has to have a match of, to be put on rails',
  ),
  'clear.soft_on_gone': {
    type: 'string',
    default: 'delete',
    oneOf: ['delete', 'keep'],
    doc: 'what becomes of a page that the load balancer does not have any more, asked twice',
  },
  'clear.soft_memory_bytes': bytes(64 * MB, 0, 64 * GB, 'contents of pages in memory, altogether'),
  'clear.soft_spool_bytes': bytes(GB, 0, 1000 * GB, 'contents of pages in files'),
  'clear.soft_metrics_listen': text('', 'endpoint where the metrics of lccd-soft are read', METRICS_ENDPOINT),
} as const satisfies Section<'clear'>;
