/** The queue as people read it: a line for the glance, a table by provider and age after qshape(1). */
import { DAY_SLOTS, hourEndMs, permits, slotOf, WEEK_SLOTS } from '../config/hours.js';
import { AGE_MINUTES, type ProviderQueue, type QueueShape, type QueueSummary } from '../db/queue/shape.js';
import { amount, formatDuration } from './words.js';

/** What is going on with a provider, and until when (milliseconds since 1970) where that is known. */
export interface ProviderState {
  state: 'disabled' | 'paused' | 'back-off' | 'closed' | 'delayed' | 'fetching' | 'waiting' | 'idle';
  until_ms?: number;
}

/** @param fetching urls of it that are on their way, as the Queue Manager says */
export function stateOf(provider: ProviderQueue, fetching: number, nowMs: number): ProviderState {
  if (provider.enabled === 0) return { state: 'disabled' };
  if (provider.paused !== 0) return { state: 'paused' };
  if (provider.backoffuntil * 1000 > nowMs)
    return { state: 'back-off', until_ms: provider.backoffuntil * 1000 };
  if (provider.waiting === 0) return { state: 'idle' };
  if (!isOpen(provider.timeofday, nowMs)) {
    const untilMs = opensAt(provider.timeofday, nowMs);
    return { state: 'closed', ...(untilMs === undefined ? {} : { until_ms: untilMs }) };
  }
  if (fetching > 0) return { state: 'fetching' };
  if (provider.dueat > nowMs) return { state: 'delayed', until_ms: provider.dueat };
  return { state: 'waiting' };
}

/** A mask of 24 or 168 characters, '' = always. */
function isOpen(mask: string, atMs: number): boolean {
  return permits(mask, slotOf(atMs, mask.length === WEEK_SLOTS ? WEEK_SLOTS : DAY_SLOTS));
}

function opensAt(mask: string, nowMs: number): number | undefined {
  let atMs = nowMs;
  for (let hour = 1; hour <= WEEK_SLOTS; hour++) {
    atMs = hourEndMs(atMs);
    if (isOpen(mask, atMs)) return atMs;
  }
  return undefined;
}

/** One line: how much waits, since when. */
export function formatSummary(queue: QueueSummary, nowMs: number): string {
  if (queue.providers === 0) return 'no provider yet; add one with lccpidb';
  if (queue.urls === 0) return 'nothing waits';
  const age =
    queue.oldest === 0
      ? ''
      : `, the oldest set for ${formatDuration(Math.max(0, nowMs / 1000 - queue.oldest))}`;
  return `${amount(queue.urls, 'url waits', 'urls wait')} for ${amount(queue.waiting, 'provider')}${age}`;
}

/** The table: providers down, ages in minutes across. Estimated ages are marked with ~. */
export function formatShape(shape: QueueShape, fetching: ReadonlyMap<number, number>, nowMs: number): string {
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
      const state = describeProvider(provider, fetching.get(provider.pid) ?? 0, nowMs);
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

function describeProvider(provider: ProviderQueue, fetching: number, nowMs: number): string {
  const { state, until_ms: untilMs } = stateOf(provider, fetching, nowMs);
  const until = untilMs === undefined ? '' : ` until ${formatTime(untilMs, nowMs)}`;
  const words =
    state === 'fetching'
      ? `fetching ${fetching}`
      : state === 'back-off'
        ? `does not answer, left alone${until}`
        : state === 'closed' && until === ''
          ? 'closed at all hours'
          : `${state}${until}`;
  return [
    words,
    provider.held === 0 ? '' : `${amount(provider.held, 'removal')} held back`,
    provider.fullsetwanted === null ? '' : `full set wanted: ${provider.fullsetwanted}`,
    provider.errors === 0 ? '' : `${amount(provider.errors, 'error')} not delivered`,
  ]
    .filter(part => part !== '')
    .join('; ');
}

/** Local time; the day only when it is another. */
function formatTime(atMs: number, nowMs: number): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const at = new Date(atMs);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return at.toDateString() === new Date(nowMs).toDateString()
    ? time
    : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}
