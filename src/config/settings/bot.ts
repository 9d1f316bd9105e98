/** `[bot]`: the robot. */
import { GB, HOUR, MB, MINUTE, SECOND } from '../amounts.js';
import { HEADER, METRICS_ENDPOINT } from '../forms.js';
import { bytes, count, flag, ms, text, type Section } from './rows.js';

export const BOT = {
  'bot.allow_addresses': {
    type: 'list',
    default: [],
    doc: 'networks (CIDR) fetched from although they are not public',
    of: 'networks',
  },
  'bot.user_agent': text(
    'lccbot/0.1 (+local content cache)',
    'User-Agent header; name a contact in it',
    HEADER,
  ),
  'bot.connect_timeout_ms': ms(5 * SECOND, 10, 10 * MINUTE, 'time to connect'),
  'bot.headers_timeout_ms': ms(30 * SECOND, 10, 10 * MINUTE, 'time to the response headers'),
  'bot.idle_timeout_ms': ms(30 * SECOND, 10, 10 * MINUTE, 'time without a byte of the body'),
  'bot.min_rate_bytes_per_s': {
    type: 'number',
    unit: 'bytes_per_s',
    default: 100,
    min: 0,
    max: 100 * MB,
    doc: 'slowest average rate of an answer; 0 = any',
  },
  'bot.total_timeout_ms': ms(120 * SECOND, 10, HOUR, 'one fetch, from first to last'),
  'bot.max_content_bytes': bytes(16 * MB, 1, 100 * GB, 'content, decoded'),
  'bot.max_redirects': count(10, 0, 100, 'redirects followed'),
  'bot.keep_alive_ms': ms(
    4 * SECOND,
    1,
    HOUR,
    'time an idle connection is kept, unless the server asks for less',
  ),
  'bot.max_connections_per_host': count(8, 1, 10_000, 'fetches at a time from one host, redirects included'),
  'bot.max_connections': count(100, 1, 60_000, 'connections to lccbot --listen at a time'),
  'bot.max_waiting': count(20_000, 1, 1_000_000, 'requests waiting for a slot at which no more are read'),
  'bot.sync_content': flag(false, 'sync every file before its fetch counts as done'),
  'bot.metrics_listen': text('', 'endpoint where the metrics of lccbot are read', METRICS_ENDPOINT),
} as const satisfies Section<'bot'>;
