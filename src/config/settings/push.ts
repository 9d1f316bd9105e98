/** `[push]`: what others say of a site's pages, by IndexNow, pings and feeds. */
import { HOUR, MINUTE } from '../amounts.js';
import { count, ms, type Section } from './rows.js';

export const PUSH = {
  'push.url_interval_ms': ms(
    MINUTE,
    0,
    HOUR,
    'time between two looks at one url that is pushed; of what comes meanwhile the last counts',
  ),
  'push.slow_per_hour': count(
    60,
    1,
    3600,
    'looks in an hour at what is pushed of a provider by a door whose pushes are seldom true: fewer than half of the last hundred',
  ),
} as const satisfies Section<'push'>;
