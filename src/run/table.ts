/** What daemons say of themselves, as a table for people. */
import { formatAmount } from '../config/settings.js';
import type { Look } from './ask.js';

const HEAD = ['DAEMON', 'STATE', 'UP', 'MEMORY', 'DETAILS'];
const COMMON = new Set(['daemon', 'pid', 'up_s', 'rss_bytes', 'idle']);

/** One line a daemon, columns aligned. */
export function formatTable(looks: readonly Look[]): string {
  const rows = [HEAD, ...looks.map(rowOf)];
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

function rowOf(look: Look): string[] {
  if (!('status' in look)) return [look.name, 'away', '', '', look.problem];
  const { status } = look;
  const details = Object.entries(status)
    .filter(([name]) => !COMMON.has(name))
    .flatMap(([name, value]) => flatten(name, value));
  return [
    look.name,
    status.idle ? 'idle' : 'busy',
    formatDuration(status.up_s),
    `${Math.round(status.rss_bytes / 1024 ** 2)} MB`,
    details.join(' '),
  ];
}

function flatten(name: string, value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((item, i) => flatten(itemName(name, item, i), item));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .filter(([key]) => key !== 'name')
      .flatMap(([key, inner]) => flatten(`${name}.${key}`, inner));
  const text = String(value);
  return [`${name}=${/\s/.test(text) ? JSON.stringify(text) : text}`];
}

function itemName(list: string, item: unknown, index: number): string {
  const named = typeof item === 'object' && item !== null && 'name' in item && typeof item.name === 'string';
  return named ? String(item.name) : `${list}.${index}`;
}

function formatDuration(seconds: number): string {
  const unit = seconds >= 172_800 ? 86_400 : seconds >= 7200 ? 3600 : seconds >= 120 ? 60 : 1;
  return formatAmount(Math.floor(seconds / unit) * unit * 1000, 'ms');
}
