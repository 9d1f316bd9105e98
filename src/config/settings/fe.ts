/** `[fe]`: front ends of an LCC that is several homes (lcc-cluster(7)); CPs have the limits of `[uns]`. */
import { MINUTE, SECOND } from '../amounts.js';
import { ENDPOINT, METRICS_ENDPOINT } from '../forms.js';
import { list, ms, text, type Section } from './rows.js';

export const FE = {
  'fe.listen': list([], 'endpoints CPs connect to, whichever home has them', ENDPOINT),
  'fe.wait_ms': ms(8 * SECOND, 0, 5 * MINUTE, 'how long a CP is held while nobody has its provider'),
  'fe.metrics_listen': text('', 'endpoint where the metrics of lccd-fe are read', METRICS_ENDPOINT),
} as const satisfies Section<'fe'>;
