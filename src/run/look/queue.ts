/** The queue as people read it: a line for the glance, a table by provider and age after qshape(1). */
import type { Slots } from '../../config/hours.js';
import { amount, formatDuration, formatUntil } from '../../config/words.js';
import { AGE_MINUTES } from '../../db/queue/ages.js';
import type { ProviderStanding, QueueShape, QueueSummary } from '../../db/queue/shape.js';
import { obstacleOf, type Obstacle } from './obstacle.js';

/** Activity of a provider, with its end (milliseconds since 1970) where that is known. */
type ProviderActivity =
  | Obstacle
  | Wait
  | { state: 'fetching' | 'waiting' | 'retry' | 'idle'; until_ms?: number };

/** The wait that the Queue Manager has for it, which no table says. */
export interface Wait {
  state: 'back-off' | 'bandwidth' | 'pace' | 'host' | 'lcc-bandwidth' | 'waiting' | 'unasked';
  until_ms?: number;
}

/** Reports of daemons on a provider, besides the database. */
export interface Told {
  /** Urls of it that are on their way. */
  fetching?: number;
  wait?: Wait;
  /** Code and host of its last failure. */
  failure?: string;
  /** When the first of its failed urls is tried again, milliseconds since 1970. */
  retryAtMs?: number;
}

/** @param slots of the period, as the Queue Manager has it */
export function stateOf(
  provider: ProviderStanding,
  { fetching = 0, wait, retryAtMs }: Told,
  nowMs: number,
  slots: Slots,
): ProviderActivity {
  const obstacle = obstacleOf(provider, nowMs, slots);
  if (obstacle !== undefined && ['moving', 'disabled', 'paused', 'back-off'].includes(obstacle.state))
    return obstacle;
  if (provider.waiting === 0) return { state: 'idle' };
  if (obstacle?.state === 'closed') return obstacle;
  if (fetching > 0) return { state: 'fetching' };
  if (wait !== undefined) return wait;
  if (obstacle !== undefined) return obstacle;
  if (!isAllFailed(provider)) return { state: 'waiting' };
  return { state: 'retry', ...(retryAtMs === undefined ? {} : { until_ms: retryAtMs }) };
}

/** Everything it has for now has failed before. */
export function isAllFailed({ waiting, later, failed }: ProviderStanding): boolean {
  return failed > 0 && failed + later >= waiting;
}

/**
 * One line: how much waits, since when.
 * @param answers whether the Queue Manager does: one that hangs may have sets that its queue does not show
 * yet
 */
export function formatSummary(queue: QueueSummary, nowMs: number, answers = true): string {
  if (queue.providers === 0) return 'no provider yet; lccpidb adds one, lccrs approves a site that waits';
  if (queue.urls === 0) return answers ? 'nothing waits' : 'not known what waits: lccd-qm does not answer';
  const age =
    queue.oldest === 0
      ? ''
      : `, the oldest set for ${formatDuration(Math.max(0, nowMs / 1000 - queue.oldest))}`;
  return `${amount(queue.urls, 'url waits', 'urls wait')} for ${amount(queue.waiting, 'provider')}${age}`;
}

/** The table: providers down, ages in minutes across. Estimated ages are marked with ~. */
export function formatShape(
  shape: QueueShape,
  told: ReadonlyMap<number, Told>,
  nowMs: number,
  slots: Slots,
): string {
  const last = AGE_MINUTES.at(-1) ?? 0;
  const head = ['PROVIDER', 'T', ...AGE_MINUTES.map(String), `${last}+`, 'STATE'];
  const row = (name: string, total: number, ages: readonly number[], exact: boolean, state: string) => [
    name,
    String(total),
    ...ages.map(count => (exact || count === 0 ? String(count) : `~${count}`)),
    state,
  ];
  const { total, left_off: leftOff } = shape;
  const rows = [
    head,
    row('TOTAL', total.waiting, total.ages, total.exact, ''),
    ...shape.providers.map(provider => {
      const state = describeProvider(provider, told.get(provider.pid) ?? {}, nowMs, slots);
      return row(String(provider.pid), provider.waiting, provider.ages, provider.exact, state);
    }),
  ];
  const widths = head.map((_, column) => Math.max(...rows.map(cells => cells[column]?.length ?? 0)));
  const lines = rows.map(cells =>
    cells
      .map((cell, column) => (column === cells.length - 1 ? cell : cell.padStart(widths[column] ?? 0)))
      .join(' ')
      .trimEnd(),
  );
  if (leftOff.providers > 0)
    lines.push(
      `and ${amount(leftOff.providers, 'provider')} more with ${amount(leftOff.waiting, 'url')} (--limit shows more)`,
    );
  return lines.map(line => `${line}\n`).join('');
}

/** One provider in words, as the table and the operators' pages have them. */
export function describeProvider(
  provider: ProviderStanding,
  told: Told,
  nowMs: number,
  slots: Slots,
): string {
  const { state, until_ms: untilMs } = stateOf(provider, told, nowMs, slots);
  const until = untilMs === undefined ? '' : ` until ${formatUntil(untilMs, nowMs)}`;
  const failure = told.failure === undefined ? '' : ` (${told.failure})`;
  const words: Partial<Record<ProviderActivity['state'], string>> = {
    moving: 'moves to another home (lccmap list)',
    fetching: `fetching, ${told.fetching} sent to machines`,
    'back-off': `${provider.backoffs === 0 ? 'asks for patience' : 'does not answer'}${failure}, left alone${until}`,
    later: `${provider.waiting === 1 ? 'its url waits for its' : 'all urls wait for their'} own hours${until}`,
    retry: `${provider.failed === 1 ? 'its url failed, is' : 'all urls failed, are'} tried again${until.replace(' until', ' at')}`,
    closed: until === '' ? 'closed at all hours' : `closed${until}`,
    bandwidth: `waits for its bandwidth${until}`,
    host: 'waits for others at its host',
    pace: `pauses for its pace${until}`,
    'lcc-bandwidth': `waits for the bandwidth of the LCC${until}`,
    unasked: `what nobody announced is not asked for${until}: no answer, or a wish for patience`,
  };
  return [
    words[state] ?? `${state}${until}`,
    provider.failed === 0 || state === 'retry' ? '' : `${amount(provider.failed, 'url')} to be tried again`,
    provider.held === 0 ? '' : `${amount(provider.held, 'removal')} held back`,
    provider.fullsetwanted === null ? '' : `full set wanted: ${provider.fullsetwanted}`,
    provider.errors === 0 ? '' : `${amount(provider.errors, 'error')} not delivered`,
  ]
    .filter(part => part !== '')
    .join('; ');
}
