/** One glance at an LCC: whether it is at rest, what should be known unasked, a line a daemon. */
import { formatBytes } from '../lib/bytes-text.js';
import type { Look } from './ask.js';
import { describeStatus, formatDuration } from './words.js';

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
): string {
  const rate =
    rates === undefined
      ? ''
      : `; ${rates.urls_per_s.toFixed(1)} urls/s, ${formatBytes(rates.bytes_per_s)}/s fetched`;
  const lines = [`${state}: ${queue}${rate}`, ...reasons.map(reason => `! ${reason}`)];
  return `${lines.join('\n')}\n\n${formatTable(looks)}`;
}

/** One line a daemon, columns aligned. */
function formatTable(looks: readonly Look[]): string {
  const away = looks.flatMap(look => ('problem' in look ? [look.name] : []));
  const rows = [HEAD, ...looks.map(look => rowOf(look, away))];
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

function rowOf(look: Look, away: readonly string[]): string[] {
  if (!('status' in look)) return [look.name, 'away', '', '', look.problem];
  const { status } = look;
  return [
    look.name,
    status.idle ? 'idle' : 'busy',
    formatDuration(status.up_s),
    formatBytes(status.rss_bytes),
    describeStatus(status, away),
  ];
}
