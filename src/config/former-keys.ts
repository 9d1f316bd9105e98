/** Keys that lcc.toml had in earlier versions. */
import type { SettingKey } from './settings/index.js';

/** Names that settings had in 0.2.0. */
const MOVED: Partial<Record<string, SettingKey>> = {
  'spider.max_page_bytes': 'links.max_page_bytes',
  'spider.max_page_links': 'links.max_page_links',
  'spider.max_path_queries': 'links.max_path_queries',
  'spider.scan_per_day': 'links.scan_per_day',
  'spider.scan_percent_per_day': 'links.scan_percent_per_day',
  'spider.list_timeout_ms': 'lists.timeout_ms',
  'spider.list_total_timeout_ms': 'lists.total_timeout_ms',
};

/** Settings that are constants now, each beside what it bounds. */
const CONSTANTS: readonly string[] = [
  'bot.max_header_bytes',
  'clear.delayed_pages',
  'clear.max_request_pages',
  'clear.slow_ms',
  'clear.slow_window',
  'clear.soft_generators',
  'clear.suspect_ms',
  'cluster.beat_ms',
  'cu.query_timeout_ms',
  'cu.shipped_wait_ms',
  'lccd.start_timeout_ms',
  'lccd.stop_timeout_ms',
  'links.max_copies',
  'push.slow_per_hour',
  'qm.ageing_ms',
  'qm.errors_kept',
  'qm.overbook_percent',
  'rs.wrong_logins_per_hour',
  'spider.known_urls',
  'spider.max_copies',
  'spider.max_waiting_bytes',
  'spider.memory_bytes',
  'spider.spool_dir',
  'spider.store_max_connections',
  'spider.window_urls',
  'uns.absorb_wait_ms',
  'uns.errors_shown',
  'uns.max_doors',
  'uns.qm_connections',
  'wire.hello_timeout_ms',
  'wire.max_controls',
  'wire.max_pending_bytes',
];

/** The fate of a key, as the refusal of it says; undefined: there never was such a key. */
export function whatBecameOf(key: string): string | undefined {
  const now = MOVED[key];
  if (now !== undefined) return `is ${now} now`;
  return CONSTANTS.includes(key) ? 'is a constant now; remove the line' : undefined;
}
