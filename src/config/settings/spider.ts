/** `[spider]`: spiders, their URL servers and store servers. */
import { DAY, HOUR, KB, MB, MINUTE, SECOND } from '../amounts.js';
import { METRICS_ENDPOINT } from '../forms.js';
import { bytes, count, flag, ms, text, type Section } from './rows.js';

export const SPIDER = {
  'spider.timeout_update_ms': ms(
    10 * SECOND,
    10,
    DAY,
    'Timeout_Update: a spider says WORKING four times in it; after three of them a URL server gives a url up',
  ),
  'spider.max_tries': count(
    3,
    1,
    1000,
    'spiders that are silent about a url, one after the other, before it has failed',
  ),
  'spider.max_losses': count(20, 1, 1_000_000, 'connections that are lost with a url before it has failed'),
  'spider.per_host': count(1, 1, 65_535, 'urls of a host under way at a time'),
  'spider.host_delay_ms': ms(0, 0, DAY, 'from the end of a fetch to the next from the same host'),
  'spider.shuffle': flag(false, 'a URL server takes hosts, and the urls of a host, in any order'),
  'spider.window_urls': count(
    10_000,
    1,
    10_000_000,
    'urls that a URL server has in memory, waiting or under way',
  ),
  'spider.window_bytes': bytes(16 * MB, 128 * KB, 16 * 1024 * MB, 'their length altogether'),
  'spider.max_spiders': count(64, 1, 60_000, 'spiders connected to a URL server at a time'),
  'spider.max_waiting_bytes': bytes(
    256 * KB,
    KB,
    1024 * MB,
    'lines that a spider has not taken at which it is sent no more',
  ),
  'spider.stall_timeout_ms': ms(
    MINUTE,
    10,
    HOUR,
    'time without a byte that a spider takes, before it is cut off',
  ),
  'spider.max_bad_lines': count(100, 0, 1_000_000, 'bad lines of a connection before it is closed'),
  'spider.sync_urls': count(
    1000,
    1,
    1_000_000,
    'urls that have ended before the journal of a list is synced',
  ),
  'spider.sync_ms': ms(SECOND, 1, HOUR, 'longest wait for more of them'),
  'spider.grace_ms': ms(5 * SECOND, 0, HOUR, 'time for what is under way when a URL server is told to stop'),
  'spider.urld_metrics_listen': text('', 'endpoint where the metrics of lccurld are read', METRICS_ENDPOINT),
} as const satisfies Section<'spider'>;
