/** Hours of a day or of a week as a picture, beside the words that say the same. */
import { html } from 'hono/html';
import { ALWAYS, WEEK_SLOTS } from '../../config/hours.js';
import type { Markup } from './layout.js';

const DAY = 24;
const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;
const [CELL, HIGH, TOP] = [14, 12, 12];
/** Room for the names of days, or for half of the first number. */
const [BESIDE_WEEK, BESIDE_DAY] = [30, 4];

/** @param mask 24 or 168 characters 0/1, '' = always */
export function hoursPicture(mask: string): Markup {
  const flags = mask === ALWAYS ? '1'.repeat(DAY) : mask;
  const rows = Array.from({ length: flags.length / DAY }, (_, day) =>
    flags.slice(day * DAY, (day + 1) * DAY),
  );
  const isWeek = flags.length === WEEK_SLOTS;
  const left = isWeek ? BESIDE_WEEK : BESIDE_DAY;
  return html`<svg
    class="hours"
    viewBox="0 0 ${String(left + DAY * CELL + 8)} ${String(TOP + rows.length * (HIGH + 2) + 2)}"
    aria-hidden="true"
    focusable="false"
  >
    ${[0, 6, 12, 18, 24].map(hour => html`<text x="${String(left + hour * CELL)}" y="8" text-anchor="middle">${String(hour)}</text>`)}
    ${rows.map((row, day) => {
      const y = TOP + day * (HIGH + 2);
      return html`${isWeek ? html`<text x="0" y="${String(y + 9.5)}">${DAYS[day] ?? ''}</text>` : ''}
      ${Array.from(row, (flag, hour) => html`<rect class="${flag === '1' ? 'on' : 'off'}" x="${String(left + hour * CELL + 0.5)}" y="${String(y)}" width="${String(CELL - 1)}" height="${String(HIGH)}" rx="2" />`)}`;
    })}
  </svg>`;
}
