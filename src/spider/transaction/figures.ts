/** The figures of lccspider. */
import { amount } from '../../config/words.js';
import {
  counter,
  countOf,
  field,
  figureOf,
  gauge,
  some,
  someThat,
  type StatusOf,
} from '../../daemon/figures.js';
import { formatBytes } from '../../lib/bytes-text.js';

const TRANSACTIONS = {
  name: 'lcc_spider_fetches_total',
  label: 'result',
  help: 'Urls that have ended, by result: fetched, failed',
};

export const SPIDER_FIGURES = {
  slots: gauge('lcc_spider_slots', 'Urls under way at a time, at most'),
  fetching: gauge(
    'lcc_spider_fetching_urls',
    'Urls being fetched',
    (count, status) => `${count} of ${amount(figureOf(status, 'slots'), 'slot')} fetching`,
  ),
  storing: gauge(
    'lcc_spider_storing_records',
    'Records waiting for a store server to take them',
    someThat('to store'),
  ),
  unconfirmed: gauge(
    'lcc_spider_unconfirmed_records',
    'Records that a store server has not confirmed',
    someThat('unconfirmed'),
  ),
  orphans: gauge('lcc_spider_orphan_urls', 'Urls under way whose URL server has gone', some('orphan')),
  credit: field<number>(),
  url_servers: gauge('lcc_spider_url_servers', 'URL servers connected', {
    reasons: ({ daemon, url_servers: servers }) =>
      servers === 0 && `${String(daemon)} has no URL server: it looks for it`,
  }),
  store_servers_away: gauge('lcc_spider_store_servers_away', 'Store servers that are not connected', {
    reasons: status => {
      const away = figureOf(status, 'store_servers_away');
      return (
        away > 0 &&
        `${String(status['daemon'])} has no connection to ${amount(away, 'store server')}: it looks for them`
      );
    },
  }),
  memory_bytes: gauge('lcc_spider_memory_bytes', 'Contents in memory'),
  fetched: countOf(TRANSACTIONS, 'fetched', count => (count === 0 ? '' : `${count} fetched since the start`)),
  failed: countOf(TRANSACTIONS, 'failed', someThat('failed')),
  orphaned: counter('lcc_spider_orphaned_total', 'Urls that ended when their URL server had gone'),
  content_bytes: counter('lcc_spider_content_bytes_total', 'Bytes of content fetched', count =>
    count === 0 ? '' : formatBytes(count),
  ),
  wire_bytes: counter('lcc_spider_wire_bytes_total', 'Bytes received from sites, headers included'),
  bad_lines: counter('lcc_spider_bad_lines_total', 'Lines of URL servers that were answered with ERR'),
  resent_records: counter('lcc_spider_resent_records_total', 'Records that went to a store server once more'),
};

export type LccspiderStatus = StatusOf<typeof SPIDER_FIGURES>;
