/** `[spider]`: spiders, their URL servers and store servers. */
import { DAY, SECOND } from '../amounts.js';
import { ms, type Section } from './rows.js';

export const SPIDER = {
  'spider.timeout_update_ms': ms(
    10 * SECOND,
    10,
    DAY,
    'Timeout_Update: a spider says WORKING four times in it; after three of them a URL server gives a url up',
  ),
} as const satisfies Section<'spider'>;
