/** `[push]`: what others say of a site's pages, by IndexNow, pings and feeds. */
import { HOUR, MINUTE } from '../amounts.js';
import { ms, type Section } from './rows.js';

export const PUSH = {
  'push.url_interval_ms': ms(
    MINUTE,
    0,
    HOUR,
    'time between two looks at one url that is pushed; of what comes meanwhile the last counts',
  ),
} as const satisfies Section<'push'>;
