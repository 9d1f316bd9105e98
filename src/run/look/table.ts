/** One glance at an LCC: whether it is at rest, what should be known unasked, a line a daemon. */
import { formatDuration } from '../../config/words.js';
import { figureOf, type Figures } from '../../daemon/figures.js';
import { formatBytes } from '../../lib/bytes-text.js';
import type { DaemonStatus, Look } from '../../daemon/ask.js';
import { isOfKind } from '../kinds.js';

/** Kind of daemon → its figures; in the order in which their reasons are given. */
export type FiguresByKind = Readonly<Record<string, Figures>>;

export interface Rates {
  /** Fetched since the last look, a second. */
  urls_per_s: number;
  bytes_per_s: number;
}

const HEAD = ['DAEMON', 'STATE', 'UP', 'MEMORY', 'DOING'];

/** @param state of the LCC, in a word @param queue one line about the queue */
export function formatOverview(
  looks: readonly Look[],
  state: string,
  queue: string,
  reasons: readonly string[],
  rates: Rates | undefined,
  figures: FiguresByKind,
): string {
  const rate =
    rates === undefined
      ? ''
      : `; ${rates.urls_per_s.toFixed(1)} urls/s, ${formatBytes(rates.bytes_per_s)}/s fetched`;
  const lines = [`${state}: ${queue}${rate}`, ...reasons.map(reason => `! ${reason}`)];
  return `${lines.join('\n')}\n\n${formatTable(looks, figures)}`;
}

/** One line a daemon, columns aligned. */
function formatTable(looks: readonly Look[], figures: FiguresByKind): string {
  const away = looks.flatMap(look => ('problem' in look ? [look.name] : []));
  const rows = [HEAD, ...looks.map(look => rowOf(look, figures, away))];
  const widths = HEAD.map((_, i) => Math.max(...rows.map(row => row[i]?.length ?? 0)));
  return rows
    .map(
      row =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function rowOf(look: Look, figures: FiguresByKind, away: readonly string[]): string[] {
  if (!('status' in look)) return [look.name, 'away', '', '', look.problem];
  const { status } = look;
  return [
    look.name,
    status.idle ? 'idle' : 'busy',
    formatDuration(status.up_s),
    formatBytes(status.rss_bytes),
    describeStatus(status, figures, away),
  ];
}

/**
 * A daemon's status in one line; of a daemon of an unknown kind its numbers.
 * @param away daemons that do not answer
 */
export function describeStatus(
  status: DaemonStatus,
  figures: FiguresByKind,
  away: readonly string[] = [],
): string {
  const kind = Object.keys(figures).find(each => isOfKind(status.daemon, each));
  const rows = kind === undefined ? undefined : figures[kind];
  if (rows === undefined) return numbersOf(status);
  return Object.entries(rows)
    .map(([name, { word }]) => word?.(figureOf(status, name), status, away) ?? '')
    .filter(part => part !== '')
    .join(', ');
}

function numbersOf(status: DaemonStatus): string {
  return Object.entries(status)
    .filter(
      ([name, value]) =>
        typeof value === 'number' && !['pid', 'up_s', 'rss_bytes', 'tls_until_ms'].includes(name),
    )
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ');
}
