/** `[bm]`: the Bot Manager, and the robots that it has in its own process under lccd. */
import { DAY, GB, HOUR, MINUTE, SECOND } from '../amounts.js';
import { METRICS_ENDPOINT, NAME } from '../forms.js';
import { bytes, count, ms, percent, text, type Section } from './rows.js';

export const BM = {
  'bm.slots': count(64, 1, 10_000, 'fetches at a time of each robot'),
  'bm.bots': count(1, 1, 64, 'robots that lccd has its lccd-bm run, a thread each'),
  'bm.machine_id': text('local', 'name of this machine in the LCC', NAME),
  'bm.grace_ms': ms(5 * MINUTE, 0, 30 * DAY, 'time for which the file of replaced or deleted content stays'),
  'bm.max_waiting': count(100_000, 1, 1_000_000, 'requests waiting for robots at which no more are read'),
  'bm.max_robots': count(1000, 1, 10_000, 'robots, or with a relay Bot Managers, connected at a time'),
  'bm.lane_window': count(
    256,
    1,
    1000,
    'requests of one lane at a robot at a time; all but the first wait there for their turn',
  ),
  'bm.attempt_timeout_ms': ms(
    5 * MINUTE,
    SECOND,
    DAY,
    'time a robot may take for one fetch before it is cut off; longer than bot.total_timeout_ms',
  ),
  'bm.robot_wait_ms': ms(
    5 * SECOND,
    0,
    HOUR,
    'time that requests wait where no robot is before they go back to the Queue Manager',
  ),
  'bm.name_block': count(1024, 1, 1_000_000, 'file names reserved at a time; a crash loses those not used'),
  'bm.min_free_disk_percent': percent(
    15,
    0,
    90,
    'free space of the store disk below which nothing is stored (code 613); bm.min_free_disk_bytes if that is less',
  ),
  'bm.min_free_disk_bytes': bytes(
    4 * GB,
    0,
    10_000 * GB,
    'free space of the store disk that is enough, however large the disk is',
  ),
  'bm.metrics_listen': text('', 'endpoint where the metrics of lccd-bm are read', METRICS_ENDPOINT),
} as const satisfies Section<'bm'>;
