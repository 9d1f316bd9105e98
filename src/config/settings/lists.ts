/** `[lists]`: what sitemap2url and feed2url read of the lists of a site. */
import { DAY, HOUR, MINUTE, SECOND } from '../amounts.js';
import { ms, type Section } from './rows.js';

export const LISTS = {
  'lists.timeout_ms': ms(30 * SECOND, 10, HOUR, 'time to connect, to an answer, and between two bytes of it'),
  'lists.total_timeout_ms': ms(10 * MINUTE, 10, DAY, 'time for a document'),
} as const satisfies Section<'lists'>;
