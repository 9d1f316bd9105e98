/** Pushes of a provider's pages by plugins, feeds and pings, and what came of them. */
import { html } from 'hono/html';
import type { PushRow, PushView } from '../push/shown.js';
import type { Markup } from './layout.js';
import { daysTable, tableOf } from './table.js';
import { agoOf } from './times.js';

const NAMES: Record<PushRow['door'], string> = { indexnow: 'IndexNow', ping: 'Ping', feed: 'Feed' };
const COLUMNS = [
  ['Sent', 'sent'],
  ['Refused', 'refused'],
  ['Fetched', 'fetched'],
  ['Changed', 'changed'],
  ['As before', 'same'],
  ['Gone', 'gone'],
] as const;

/** @param url where IndexNow is taken */
export function pushPage(view: PushView, url: string, nowMs: number, zone: string | undefined): Markup {
  return html`<h1>Pushes</h1>
    <p>
      A plugin or a build job can tell this cache that a page has changed, by IndexNow at
      <code>${url}</code>. Nothing has to be installed here.
    </p>
    ${pushSection(view, nowMs, zone)}`;
}

/** The same, for operators. */
export function pushSection({ doors, scores, days, refusals }: PushView, nowMs: number, zone?: string) {
  return html`<p>${doorsText(doors)} ${scoreText(scores)}</p>
    ${days.length === 0 ? html`<div class="empty"><p>Nothing has come yet.</p></div>` : dayByDay(days)}
    ${refusals.length === 0 ? '' : refusalTable(refusals, nowMs, zone)}`;
}

function doorsText(doors: string): string {
  if (doors === '') return 'All doors are closed.';
  const names = doors.split(',').map(door => NAMES[door as PushRow['door']] ?? door);
  return `Open: ${names.join(', ')}.`;
}

function scoreText(scores: PushView['scores']): string {
  const known = Object.entries(scores).filter(([, { score }]) => score !== null);
  if (known.length === 0)
    return 'Fewer than a hundred pushes by one door have been looked at: there is no score yet.';
  const each = known.map(([door, { score }]) => `${NAMES[door as PushRow['door']]} ${score}`).join(', ');
  const slow = ' A score below 50 makes pushes by that door wait for all other work, and few are looked at.';
  const isSlow = known.some(([, one]) => one.slow);
  return `Score: ${each}. A score of N: of the last 100 pushes N were true.${isSlow ? slow : ''}`;
}

function dayByDay(days: readonly PushRow[]): Markup {
  return html`<h2>Day by day</h2>
    ${daysTable(COLUMNS, days, ({ door }) => NAMES[door])}
    <p class="soft">
      Days in UTC, the newest first. A url that is pushed several times in a minute is fetched once. Fetched
      has more than its neighbours together: pages that were asked for within the hour before and are as they
      were, and pages that could not be had.
    </p>`;
}

function refusalTable(refusals: PushView['refusals'], nowMs: number, zone: string | undefined): Markup {
  return html`<h2>Refused</h2>
    ${tableOf<PushView['refusals'][number]>(
      'Refused',
      [
        { head: 'When', cell: ({ atMs }) => agoOf(atMs, nowMs, zone) },
        { head: 'By', cell: ({ door }) => NAMES[door] },
        { head: 'Url', kind: 'wide', cell: ({ url }) => url },
        { head: 'Why', cell: ({ reason }) => reason },
        { head: 'Urls so far', kind: 'number', cell: ({ urls }) => String(urls) },
      ],
      refusals,
      { isHeadless: true },
    )}`;
}
