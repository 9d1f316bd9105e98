/** `[links]`: what lcclinks reads of pages, and how many held ones lccscan asks for again. */
import { KB, MB } from '../amounts.js';
import { bytes, count, type Section } from './rows.js';

export const LINKS = {
  'links.max_page_bytes': bytes(8 * MB, KB, 256 * MB, 'length of a page whose links are looked at'),
  'links.max_page_links': count(10_000, 1, 1_000_000, 'links of a page'),
  'links.max_path_queries': count(
    5000,
    1,
    10_000_000,
    'held or waiting urls that differ in their query alone',
  ),
  'links.scan_per_day': count(
    100,
    0,
    1_000_000_000,
    'held pages of a provider that lccscan asks for again in a day, at least',
  ),
  'links.scan_percent_per_day': count(
    2,
    0,
    100,
    'the same in percent of what is held; the larger of the two',
  ),
} as const satisfies Section<'links'>;
