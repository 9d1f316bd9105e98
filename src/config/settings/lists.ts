/** `[spider]` too: what sitemap2url and feed2url read of the lists of a site. */
import { DAY, GB, HOUR, KB, MB, MINUTE, SECOND } from '../amounts.js';
import { bytes, count, ms, type Section } from './rows.js';

export const LISTS = {
  'spider.list_max_documents': count(50_000, 1, 10_000_000, 'sitemaps, indexes and feeds of a run'),
  'spider.list_max_depth': count(3, 1, 100, 'indexes that are listed in each other'),
  'spider.list_max_entries': count(1_000_000, 1, 100_000_000, 'urls that a document may list'),
  'spider.list_max_document_bytes': bytes(256 * MB, KB, 64 * GB, 'largest document, decoded'),
  'spider.list_max_feed_bytes': bytes(16 * MB, KB, 256 * MB, 'largest feed, which is read as a whole'),
  'spider.list_max_token_bytes': bytes(MB, KB, 64 * MB, 'longest piece of markup or text in a document'),
  'spider.list_max_url_bytes': bytes(2048, 16, 64 * KB, 'longest url that is written'),
  'spider.list_timeout_ms': ms(
    30 * SECOND,
    10,
    HOUR,
    'time to connect, to an answer, and between two bytes of it',
  ),
  'spider.list_total_timeout_ms': ms(10 * MINUTE, 10, DAY, 'time for a document'),
  'spider.list_max_retry_after_ms': ms(
    MINUTE,
    0,
    HOUR,
    'longest Retry-After that is waited for, twice at most',
  ),
} as const satisfies Section<'spider'>;
