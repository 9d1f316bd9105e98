/** The figures of the daemons of cache clearing: those of rails, which both have, and those of lccd-hard. */
import { amount, formatDuration } from '../config/words.js';
import {
  counter,
  field,
  gauge,
  listOf,
  some,
  type Metric,
  type Status,
  type StatusOf,
} from '../daemon/figures.js';
import type { RailStatus } from './rails/status.js';

type OfRail = [name: string, help: string, number: (rail: Status) => number];

/** One sample a rail; there are as many as have been set up. */
const OF_RAILS: readonly OfRail[] = [
  ['rail_up', 'Whether the rail is UP: 1 or 0', ({ state }) => Number(state !== 'down')],
  ['rail_slow', 'Whether the rail is SLOW: 1 or 0', ({ slow }) => Number(slow === true)],
  ['rail_delayed', 'Whether the rail is DELAYED: 1 or 0', ({ delayed }) => Number(delayed === true)],
  ['rail_waiting_pages', 'Pages in the line of the rail', ({ waiting }) => Number(waiting)],
  ['rail_backlog_pages', 'Pages in the backlog of the rail', ({ backlog }) => Number(backlog)],
  ['rail_dead_pages', 'Pages in its backlog that are tried no more', ({ dead }) => Number(dead)],
  ['rail_done_total', 'Pages cleared or put', ({ done }) => Number(done)],
  ['rail_failed_total', 'Requests that failed, whatever followed', ({ failed }) => Number(failed)],
];

function metricOf(prefix: string, [name, help, number]: OfRail): Metric {
  const samples = (rails: unknown) =>
    Object.fromEntries(listOf({ rails }, 'rails').map(rail => [String(rail['name']), number(rail)]));
  return {
    name: `${prefix}_${name}`,
    kind: name.endsWith('_total') ? 'counter' : 'gauge',
    help,
    label: 'rail',
    samples,
  };
}

/** @param prefix of its metrics */
function railFigures(prefix: string) {
  return {
    database_trouble: field<string | null>({
      reasons: ({ daemon, database_trouble: error }) =>
        typeof error === 'string' && `${String(daemon)} cannot write its database, requests wait: ${error}`,
    }),
    rails: field<RailStatus[]>({
      metrics: OF_RAILS.map(row => metricOf(prefix, row)),
      word: (_count, status) => describeRails(listOf(status, 'rails')),
      reasons: (status, nowMs) => listOf(status, 'rails').flatMap(rail => ofRail(rail, nowMs)),
    }),
  };
}

export const HARD_FIGURES = {
  ...railFigures('lcc_hard'),
  requests_queued: gauge(
    'lcc_hard_queued_requests',
    'Requests in the queue, counted up to 100000',
    some('request queued', 'requests queued'),
  ),
  requests_in_flight: gauge('lcc_hard_in_flight_requests', 'Requests being carried out, by key'),
  pages_waiting: gauge(
    'lcc_hard_waiting_pages',
    'Pages, each for one rail, that wait to be cleared',
    some('page waiting', 'pages waiting'),
  ),
  pages_sending: gauge('lcc_hard_sending_pages', 'Pages for which a rail is being asked'),
  requests_completed: counter(
    'lcc_hard_completed_requests_total',
    'Requests carried out, equal ones as one',
    count => (count === 0 ? '' : `${amount(count, 'request')} done since the start`),
  ),
  requests_rejected: counter('lcc_hard_rejected_requests_total', 'Requests rejected', count =>
    count === 0 ? '' : `${count} rejected`,
  ),
  pages_published: counter('lcc_hard_published_pages_total', 'Pages left to soft clearing'),
};

export type HardStatus = StatusOf<typeof HARD_FIGURES>;

function describeRails(rails: readonly Status[]): string {
  const up = rails.filter(({ state }) => state !== 'down').length;
  return `${up} of ${amount(rails.length, 'rail')} up`;
}

/** Reasons about a rail that an operator should know. */
function ofRail(
  { name, state, reason, changed_ms: changedMs, backlog, dead, last_error: error, ...line }: Status,
  nowMs: number,
): string[] {
  const reasons: string[] = [];
  const left =
    Number(backlog) > 0 ? `; ${amount(Number(backlog), 'page waits', 'pages wait')} in its backlog` : '';
  if (state === 'down') {
    const since = formatDuration(Math.max(0, Math.floor((nowMs - Number(changedMs)) / 1000)));
    const why = reason === '' ? '' : ` (${String(reason)})`;
    reasons.push(
      `rail ${String(name)} is DOWN for ${since}${why}${left}; when it is mended: lccrail up ${String(name)}`,
    );
  } else if (error !== '' && Number(backlog) > 0) {
    reasons.push(`rail ${String(name)} fails: ${String(error)}${left}; lccclearq backlog shows them`);
  } else if (error !== '' && Number(line['waiting'] ?? 0) > 0) {
    const pages = amount(Number(line['waiting']), 'page is', 'pages are');
    reasons.push(`rail ${String(name)} fails: ${String(error)}; ${pages} tried again`);
  }
  if (Number(dead) > 0)
    reasons.push(
      `${amount(Number(dead), 'page')} for rail ${String(name)} ${Number(dead) === 1 ? 'is' : 'are'} not tried any more: lccclearq --retry`,
    );
  return reasons;
}

export const SOFT_FIGURES = {
  ...railFigures('lcc_soft'),
  generation_error: field<string | null>({
    reasons: ({ generation_error: error }) =>
      typeof error === 'string' &&
      `pages cannot be generated: ${error}; the rails keep the old ones until that works`,
  }),
  pages_to_publish: gauge(
    'lcc_soft_waiting_pages',
    'Pages whose last publication is not everywhere yet, counted up to 100000',
    some('page to publish', 'pages to publish'),
  ),
  pages_generating: gauge('lcc_soft_generating_pages', 'Pages that are being generated'),
  pages_on_rails: gauge('lcc_soft_sending_pages', 'Publications on their way to rails'),
  memory_bytes: gauge('lcc_soft_memory_bytes', 'Contents of pages in memory'),
  spool_bytes: gauge('lcc_soft_spool_bytes', 'Contents of pages in files'),
  pages_generated: counter('lcc_soft_generated_pages_total', 'Pages generated'),
  generations_failed: counter('lcc_soft_failed_generations_total', 'Pages that could not be generated'),
  pages_gone: counter('lcc_soft_gone_pages_total', 'Pages that their load balancer does not have any more'),
  publications_done: counter('lcc_soft_published_pages_total', 'Publications done', count =>
    count === 0 ? '' : `${amount(count, 'page')} published since the start`,
  ),
};

export type SoftStatus = StatusOf<typeof SOFT_FIGURES>;
