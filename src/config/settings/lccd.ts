/** `[lccd]`: the supervisor of a whole LCC. */
import { HOUR, SECOND } from '../amounts.js';
import { METRICS_ENDPOINT } from '../forms.js';
import { ms, text, type Section } from './rows.js';

export const LCCD = {
  'lccd.restart_min_ms': ms(
    100,
    1,
    HOUR,
    'wait before a child of lccd that died is started again, doubled each time',
  ),
  'lccd.restart_max_ms': ms(
    5 * SECOND,
    1,
    HOUR,
    'longest such wait; a child that lived longer starts afresh',
  ),
  'lccd.start_timeout_ms': ms(30 * SECOND, 100, HOUR, 'time in which all children of lccd must be ready'),
  'lccd.stop_timeout_ms': ms(
    9 * SECOND,
    100,
    HOUR,
    'time in which they must have stopped before they are killed',
  ),
  'lccd.metrics_listen': text('', 'endpoint where the metrics of lccd are read', METRICS_ENDPOINT),
} as const satisfies Section<'lccd'>;
