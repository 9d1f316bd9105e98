/** Parts of the operators' pages that several of them have. */
import { html } from 'hono/html';
import { formatDuration } from '../../config/words.js';
import type { RegistrationState } from '../../db/rs/registrations.js';
import { capital, type Markup } from '../pages/layout.js';
import { countText } from '../pages/numbers.js';
import { STATES } from '../pages/pair.js';
import { tableOf, type Column } from '../pages/table.js';
import type { AuditEntry, AuditPage, Freshness } from './views.js';

/** A count, of which 0 stands back. */
export function numberCell(count: number): Markup | string {
  return count === 0 ? html`<span class="zero">0</span>` : countText(count);
}

/** `2026-11-23 20:10:05`, in the time of this machine. */
export function timeCell(iso: string): Markup {
  const at = new Date(iso);
  const two = (value: number) => String(value).padStart(2, '0');
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return html`<time datetime="${iso}">${date} ${time}</time>`;
}

/** `for 5 min`. */
export function sinceText(iso: string, nowMs: number): string {
  return `for ${formatDuration(Math.max(0, Math.floor((nowMs - Date.parse(iso)) / 1000)))}`;
}

const JUST_NOW_S = 15;

/** When the whole LCC was seen last, and why there is nothing newer. */
export function freshness({ at, problem }: Freshness, nowMs: number): Markup {
  const seconds = at === null ? 0 : Math.floor((nowMs - Date.parse(at)) / 1000);
  const age =
    at === null
      ? 'Not seen yet'
      : seconds < JUST_NOW_S
        ? 'Seen just now'
        : `Seen ${formatDuration(seconds)} ago`;
  return html`<p class="fresh">${age}.</p>
    ${problem === null ? '' : html`<div class="note bad" role="status"><p>${capital(problem)}. What is shown is what was seen last.</p></div>`}`;
}

export function stateBadge(state: RegistrationState): Markup {
  return html`<span class="state ${STATES[state][0]}">${state}</span>`;
}

/**
 * @param base of the operators' pages @param more address of the next page, up to the number @param empty
 * what is said without rows
 */
export function auditTable(
  { rows, next }: AuditPage,
  base: string,
  more: string,
  empty = 'Nothing happened.',
): Markup {
  const columns: Column<AuditEntry>[] = [
    { head: 'When', kind: 'time', cell: ({ at }) => timeCell(at) },
    { head: 'What', cell: ({ event }) => event },
    { head: 'By', cell: ({ by }) => by },
    {
      head: 'Provider',
      kind: 'number',
      cell: ({ pid }) =>
        pid === null ? '' : html`<a href="${base}/providers/${String(pid)}">${String(pid)}</a>`,
    },
    { head: 'Detail', kind: 'wide', cell: ({ detail }) => detail },
  ];
  return html`${tableOf('Audit', columns, rows, { empty })}
  ${next === null ? '' : html`<p class="pages"><a href="${more}${String(next)}">Older ones</a></p>`}`;
}
