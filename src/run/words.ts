/** What a daemon says of itself, as a tired person would have it told. */
import { formatBytes } from '../lib/bytes-text.js';
import { formatAmount } from '../config/amounts.js';
import type { DaemonStatus } from './ask.js';
import { figureOf, listOf } from './figures.js';
import { isOfKind } from './kinds.js';

/**
 * A daemon's status in one line of plain words; of a daemon not known here, its numbers.
 * @param away daemons that do not answer: a supervisor knows only that they did once and still run
 */
export function describeStatus(status: DaemonStatus, away: readonly string[] = []): string {
  const kind = Object.keys(WORDS).find(each => isOfKind(status.daemon, each));
  const words = kind === undefined ? undefined : WORDS[kind];
  if (words === undefined) return numbersOf(status);
  return words(new Figures(status, away))
    .filter(part => part !== '')
    .join(', ');
}

/** `2 h`, `45 s`: whole units, at most two digits more than needed. */
export function formatDuration(seconds: number): string {
  const unit = seconds >= 172_800 ? 86_400 : seconds >= 7200 ? 3600 : seconds >= 120 ? 60 : 1;
  return formatAmount(Math.floor(seconds / unit) * unit * 1000, 'ms').replace(/^0 \w+$/, '0 s');
}

/** A moment that has come soon enough to count the seconds to it. */
const SOON_MS = 5 * 60_000;

/** Local time; the day only when it is another, seconds only when it is soon. */
export function formatUntil(atMs: number, nowMs: number): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const at = new Date(atMs);
  const seconds = atMs - nowMs < SOON_MS ? `:${two(at.getSeconds())}` : '';
  const time = `${two(at.getHours())}:${two(at.getMinutes())}${seconds}`;
  return at.toDateString() === new Date(nowMs).toDateString()
    ? time
    : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** `1 url`, `3 urls`. */
export function amount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** A status, read for its words. */
class Figures {
  readonly away: readonly string[];
  readonly #status: DaemonStatus;
  constructor(status: DaemonStatus, away: readonly string[]) {
    this.#status = status;
    this.away = away;
  }
  of(name: string): number {
    return figureOf(this.#status, name);
  }
  list(name: string): readonly Record<string, unknown>[] {
    return listOf(this.#status, name);
  }
  /** The number with its noun, nothing when it is 0. */
  some(name: string, one: string, many?: string): string {
    const count = this.of(name);
    return count === 0 ? '' : amount(count, one, many);
  }
}

const WORDS: Record<string, (of: Figures) => string[]> = {
  'lccd-uns': of => [
    amount(of.of('connections'), 'connection'),
    of.some('sets_open', 'set being sent', 'sets being sent'),
    of.of('sets_spooled') === 0
      ? 'spool empty'
      : `${amount(of.of('sets_spooled'), 'set')} (${formatBytes(of.of('spool_bytes'))}) in the spool`,
    of.of('sets_accepted') === 0
      ? ''
      : `${amount(of.of('sets_accepted'), 'set')} with ${amount(of.of('urls_accepted'), 'url')} taken since the start`,
    of.of('refused') === 0 ? '' : `${of.of('refused')} refused`,
  ],
  'lccd-qm': of => [
    of.of('rows_queued') === 0 ? 'nothing queued' : `${amount(of.of('rows_queued'), 'url')} queued`,
    of.of('rows_later') === 0 ? '' : `${of.of('rows_later')} of them for another hour`,
    of.of('in_flight') <= of.of('results_waiting')
      ? ''
      : `${of.of('in_flight') - of.of('results_waiting')} of them sent to machines`,
    of.of('results_waiting') === 0 ? '' : `${of.of('results_waiting')} of them fetched and not yet written`,
    of.some('absorbing', 'set being absorbed', 'sets being absorbed'),
    fetchedSince(of),
    of.of('freed_waiting') === 0 ? '' : `${amount(of.of('freed_waiting'), 'file')} to be deleted`,
  ],
  'lccd-bm': of => [
    `${of.of('relay') === 1 ? `relays to ${amount(of.of('machines'), 'machine')}` : amount(of.of('robots'), 'robot')} with ${amount(of.of('slots'), 'slot')}`,
    sentOn(of),
    of.of('waiting') === 0 ? '' : `${of.of('waiting')} waiting for a slot`,
    of.some('deletions_waiting', 'deletion waiting', 'deletions waiting'),
  ],
  lccbot: of => [
    `${of.of('fetching')} of ${amount(of.of('slots'), 'slot')} fetching`,
    of.of('storing') === 0 ? '' : `${of.of('storing')} being written`,
    of.of('waiting') === 0 ? '' : `${of.of('waiting')} waiting`,
    of.of('bytes') === 0 ? '' : `${formatBytes(of.of('bytes'))} fetched since the start`,
  ],
  'lccd-cu': of => [
    amount(of.of('connections'), 'connection'),
    of.of('answering') === 0 ? '' : `${of.of('answering')} being answered`,
    of.of('queries') === 0
      ? ''
      : `${amount(of.of('queries'), 'query', 'queries')} with ${amount(of.of('urls_sent'), 'url')} since the start`,
    of.of('refused') === 0 ? '' : `${of.of('refused')} refused`,
  ],
  lccd: of => [
    `${of.list('children').filter(child => child['state'] === 'ready' && !of.away.includes(String(child['name']))).length} of ${amount(of.of('children'), 'child', 'children')} ready`,
    restarts(of.list('children')),
  ],
};

/** What robots and machines have, most of it ahead of its turn. */
function sentOn(of: Figures): string {
  const sent = of.of('fetching');
  if (sent === 0) return '';
  return `${sent} sent to ${of.of('relay') === 1 ? 'machines' : 'robots'}, ${of.of('begun')} of them begun`;
}

function fetchedSince(of: Figures): string {
  const kinds = [
    of.of('stored') === 0 ? '' : `${of.of('stored')} stored`,
    of.of('unchanged') === 0 ? '' : `${of.of('unchanged')} unchanged`,
    of.some('errors', 'error'),
    of.some('retries', 'failure to be tried again', 'failures to be tried again'),
  ].filter(kind => kind !== '');
  return kinds.length === 0 ? '' : `${kinds.join(' + ')} since the start`;
}

function restarts(children: readonly Record<string, unknown>[]): string {
  const restarted = children.filter(({ restarts: count }) => typeof count === 'number' && count > 0);
  return restarted
    .map(
      ({ name, restarts: count }) =>
        `${String(name)} started again ${Number(count) === 1 ? 'once' : `${Number(count)} times`}`,
    )
    .join(', ');
}

function numbersOf(status: DaemonStatus): string {
  return Object.entries(status)
    .filter(([name, value]) => typeof value === 'number' && !['pid', 'up_s', 'rss_bytes'].includes(name))
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ');
}
