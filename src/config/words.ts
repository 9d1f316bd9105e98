/** Amounts, durations and moments as they stand in sentences. */
import { formatAmount } from './amounts.js';

/** `1 url`, `3 urls`. */
export function amount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
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
