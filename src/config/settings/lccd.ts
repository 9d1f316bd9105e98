/** `[lccd]`: the supervisor of a whole LCC. */
import { HOUR, SECOND } from '../amounts.js';
import { FOLDER, METRICS_ENDPOINT } from '../forms.js';
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
  'lccd.metrics_listen': text(
    '',
    'endpoint where the metrics of lccd and of all its daemons are read',
    METRICS_ENDPOINT,
  ),
  'lccd.store': text('', 'folder of the content, as on another disk; empty: $LCC_HOME/store', FOLDER),
  'lccd.alert_command': text('', 'command line that tells the operator; gets events as JSON, a line each'),
} as const satisfies Section<'lccd'>;
