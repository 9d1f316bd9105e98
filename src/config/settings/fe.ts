/** `[fe]`: front ends of an LCC that is several homes (lcc-cluster(7)). */
import { HOUR, MINUTE, SECOND } from '../amounts.js';
import { METRICS_ENDPOINT } from '../forms.js';
import { count, list, ms, text, type Section } from './rows.js';

export const FE = {
  'fe.listen': list([], 'endpoints CPs connect to, whichever home has them'),
  'fe.wait_ms': ms(8 * SECOND, 0, 5 * MINUTE, 'how long a CP is held while nobody has its provider'),
  'fe.max_connections': count(8000, 1, 60_000, 'connections of CPs at a time'),
  'fe.max_connections_per_address': count(32, 1, 60_000, 'connections at a time from one address'),
  'fe.login_timeout_ms': ms(10 * SECOND, 100, 10 * MINUTE, 'time from connecting to a complete init'),
  'fe.idle_timeout_ms': ms(
    10 * MINUTE,
    SECOND,
    24 * HOUR,
    'silence of a UNS or a CP after which their connections are cut; longer than those of UNSes',
  ),
  'fe.metrics_listen': text('', 'endpoint where the metrics of lccd-fe are read', METRICS_ENDPOINT),
} as const satisfies Section<'fe'>;
