/** The figures of lccd: its children. */
import { amount, formatDuration } from '../config/words.js';
import { field, listOf, type Metric, type Status, type StatusOf } from '../daemon/figures.js';
import type { ChildStatus } from './child.js';

/** A daemon that has run for longer is taken to be well again. */
const RECENTLY_S = 600;
/** A daemon that is not ready this time after its start is reported: it may upgrade a database. */
const LONG_START_S = 2;

type OfChild = [name: string, help: string, number: (child: Status) => number];

/** A sample a child; there are as many as the configuration says. */
const OF_CHILDREN: readonly OfChild[] = [
  [
    'lcc_lccd_daemon_up',
    'Whether the daemon runs and has answered since its start: 1 or 0',
    ({ state }) => Number(state === 'ready'),
  ],
  [
    'lcc_lccd_daemon_waiting',
    'Whether it has ended and waits for its next start: 1 or 0',
    ({ state }) => Number(state === 'waiting'),
  ],
  [
    'lcc_lccd_daemon_held_up',
    'Whether that is put off, for want of room on a disk: 1 or 0',
    ({ held_up: reason }) => Number(typeof reason === 'string'),
  ],
  ['lcc_lccd_daemon_restarts_total', 'Starts after the first', child => Number(child['restarts'])],
  [
    'lcc_lccd_daemon_start_time_seconds',
    'When it was started last, in Unix time',
    child => Number(child['started_at_s']),
  ],
];

export const LCCD_FIGURES = {
  children: field<readonly ChildStatus[]>({
    metrics: OF_CHILDREN.map(metricOf),
    word: describeChildren,
    reasons: (status, nowMs) => listOf(status, 'children').flatMap(child => ofChild(child, nowMs)),
  }),
};

export type LccdStatus = StatusOf<typeof LCCD_FIGURES>;

function metricOf([name, help, number]: OfChild): Metric {
  const samples = (children: unknown) =>
    Object.fromEntries(listOf({ children }, 'children').map(child => [String(child['name']), number(child)]));
  return { name, kind: name.endsWith('_total') ? 'counter' : 'gauge', help, label: 'daemon', samples };
}

/** lccd knows of a child only that it answered once and still runs. */
function describeChildren(count: number, status: Status, away: readonly string[]): string {
  const children = listOf(status, 'children');
  const ready = children.filter(({ name, state }) => state === 'ready' && !away.includes(String(name)));
  const restarted = children.flatMap(({ name, restarts }) =>
    Number(restarts) > 0
      ? [`${String(name)} started again ${restarts === 1 ? 'once' : `${String(restarts)} times`}`]
      : [],
  );
  return [`${ready.length} of ${amount(count, 'child', 'children')} ready`, ...restarted].join(', ');
}

/** A daemon that lccd had to start again of late, or has yet to. */
function ofChild(child: Status, nowMs: number): string[] {
  const { name, state, held_up: heldUp, restarts, started_at_s: startedS, last_end: end } = child;
  if (typeof heldUp === 'string') return [`${String(name)} is not started again for now: ${heldUp}`];
  const ageS = Math.max(0, Math.floor(nowMs / 1000) - Number(startedS));
  if (state === 'starting' && ageS >= LONG_START_S)
    return [`${String(name)} has been starting for ${formatDuration(ageS)}; the log says what it does`];
  if (typeof end !== 'string') return [];
  if (state === 'stopped')
    return [`${String(name)} ${end} and stays down: mend what it says in the log, then reload lccd (SIGHUP)`];
  if (state === 'waiting') return [`${String(name)} ${end} and is started again; the log says more`];
  const count = Number(restarts);
  if (!(count > 0 && ageS < RECENTLY_S)) return [];
  const times = count === 1 ? '' : ` (${count} times in all)`;
  return [
    `${String(name)} was started again ${formatDuration(ageS)} ago${times}: it ${end}; the log says more`,
  ];
}
