/** `[spider]` too: what lcclinks reads of pages, and where a crawl ends. */
import { HOUR, KB, MB, MINUTE, SECOND } from '../amounts.js';
import { bytes, count, ms, type Section } from './rows.js';

export const CRAWL = {
  'spider.max_page_bytes': bytes(8 * MB, KB, 256 * MB, 'length of a page whose links are looked at'),
  'spider.max_page_links': count(10_000, 1, 1_000_000, 'links of a page'),
  'spider.max_value_bytes': bytes(8 * KB, 256, MB, 'length of a value in a page that is looked at'),
  'spider.page_timeout_ms': ms(
    2 * SECOND,
    1,
    MINUTE,
    'time for the links of a page; those found by then count',
  ),
  'spider.max_link_bytes': bytes(2000, 64, 64 * KB, 'length of a link'),
  'spider.max_segments': count(20, 1, 1000, 'segments of the path of a link'),
  'spider.max_segment_repeats': count(3, 1, 1000, 'places of one segment in such a path'),
  'spider.max_parameters': count(12, 0, 1000, 'parameters of the query of a link'),
  'spider.max_path_queries': count(
    5000,
    1,
    10_000_000,
    'held or waiting urls that differ in their query alone',
  ),
  'spider.max_copies': count(
    8,
    2,
    1_000_000,
    'held pages of one content before the links of such a page are left',
  ),
  'spider.sent_links': count(
    1 << 20,
    1024,
    1 << 26,
    'links that lcclinks remembers to have sent; 8 bytes each',
  ),
  'spider.set_links': count(5000, 1, 100_000, 'links of a provider that lcclinks delivers at a time'),
  'spider.set_links_all': count(
    20_000,
    1,
    1_000_000,
    'links of all providers that wait for that in lcclinks',
  ),
  'spider.set_delay_ms': ms(250, 1, MINUTE, 'the longest that they wait for more, while more are found'),
  'spider.scan_per_day': count(
    100,
    0,
    1_000_000_000,
    'held pages of a provider that lccscan asks for again in a day, at least',
  ),
  'spider.scan_percent_per_day': count(
    2,
    0,
    100,
    'the same in percent of what is held; the larger of the two',
  ),
  'spider.max_unanswered_sets': count(
    64,
    1,
    1000,
    'sets that lcclinks has at the spider door without an answer',
  ),
  'spider.door_timeout_ms': ms(MINUTE, 10, HOUR, 'time for an answer of the spider door'),
} as const satisfies Section<'spider'>;
