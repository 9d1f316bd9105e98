/** The metrics of lccd, read from its status; lcc-metrics(5) is compared with this table. */
import type { MetricRow } from '../daemon/types.js';
import { listOf } from './figures.js';

type Values = (status: Readonly<Record<string, unknown>>) => Record<string, number>;

/** One number a child; there are as many as the configuration says. */
function ofChildren(value: (child: Readonly<Record<string, unknown>>) => number): Values {
  return status =>
    Object.fromEntries(listOf(status, 'children').map(child => [String(child['name']), value(child)]));
}

const label = 'daemon';

export const LCCD_METRICS: readonly MetricRow[] = [
  {
    name: 'lcc_lccd_daemon_up',
    type: 'gauge',
    label,
    values: ofChildren(({ state }) => Number(state === 'ready')),
    help: 'Whether the daemon runs and has answered since its start: 1 or 0',
  },
  {
    name: 'lcc_lccd_daemon_waiting',
    type: 'gauge',
    label,
    values: ofChildren(({ state }) => Number(state === 'waiting')),
    help: 'Whether it has ended and is to be started again: 1 or 0',
  },
  {
    name: 'lcc_lccd_daemon_held_up',
    type: 'gauge',
    label,
    values: ofChildren(({ held_up: reason }) => Number(typeof reason === 'string')),
    help: 'Whether that is put off, for want of room on a disk: 1 or 0',
  },
  {
    name: 'lcc_lccd_daemon_restarts_total',
    type: 'counter',
    label,
    values: ofChildren(({ restarts }) => Number(restarts)),
    help: 'Starts after the first',
  },
  {
    name: 'lcc_lccd_daemon_start_time_seconds',
    type: 'gauge',
    label,
    values: ofChildren(({ started_at_s: startedAtS }) => Number(startedAtS)),
    help: 'When it was started last, in Unix time',
  },
];
