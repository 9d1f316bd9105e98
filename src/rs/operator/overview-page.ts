/** The first page of operators: what waits for them, why nothing moves, and graphs. */
import { html } from 'hono/html';
import { amount, formatDuration } from '../../config/words.js';
import type { SeriesStep } from '../../db/rs/series.js';
import { capital, type Markup } from '../pages/layout.js';
import { graphOf, valueText, type GraphTimes, type GraphView } from './graph.js';
import { freshness, tileOf } from './markup.js';
import type { OperatorViews, Overview } from './views.js';

/** Of the queue by age, the others each from 0. */
export const GRAPHS: readonly GraphView[] = [
  {
    id: 'queue',
    title: 'Urls that wait, by age',
    unit: 'urls',
    isStacked: true,
    lines: [
      { figure: 'age_0', label: 'under 5 min' },
      { figure: 'age_1', label: 'to 40 min' },
      { figure: 'age_2', label: 'to 5 h' },
      { figure: 'age_3', label: 'to 21 h' },
      { figure: 'age_4', label: 'older' },
    ],
  },
  {
    id: 'rate',
    title: 'Fetched a second',
    unit: 'urls/s',
    lines: [
      { figure: 'stored_per_s', label: 'stored' },
      { figure: 'unchanged_per_s', label: 'unchanged' },
    ],
  },
  {
    id: 'errors',
    title: 'Failed a second',
    unit: 'urls/s',
    lines: [
      { figure: 'errors_per_s', label: 'told to the provider' },
      { figure: 'retries_per_s', label: 'tried again' },
    ],
  },
  {
    id: 'bytes',
    title: 'Received a second',
    unit: 'bytes/s',
    lines: [{ figure: 'bytes_per_s', label: 'from sites' }],
  },
  {
    id: 'machines',
    title: 'Fetches at a time',
    unit: 'count',
    lines: [
      { figure: 'slots', label: 'slots of all machines' },
      { figure: 'in_flight', label: 'urls on their way' },
    ],
  },
];

export function overviewPage(views: OperatorViews, step: SeriesStep, base: string, nowMs: number): Markup {
  const overview = views.overview();
  const moments = views.moments(step);
  const times = views.spanOf(step);
  return html`<h1>Overview</h1>
    <p class="lead">${capital(overview.summary)}.</p>
    ${freshness(overview, nowMs)}
    <div class="two">${waitsForYou(overview, base)} ${toKnow(overview.reasons)}</div>
    ${tiles(overview)}
    <nav class="spans" aria-label="Time of the graphs">
      ${spanLink(base, 'fine', step, spanText(views.spanOf('fine')))}
      ${spanLink(base, 'coarse', step, spanText(views.spanOf('coarse')))}
    </nav>
    <div
      class="graphs"
      id="graphs"
      data-series="${base}/series?step=${step}"
      data-span-ms="${String(times.toMs - times.fromMs)}"
      data-zone="${zoneOf()}"
    >
      ${GRAPHS.map(view => graphOf(view, moments, times))}
    </div>
    <p class="fresh">Times are those of the machine of the cache, ${zoneOf()}.</p>`;
}

/** `The last 60 min`. */
function spanText({ fromMs, toMs }: GraphTimes): string {
  return `The last ${formatDuration(Math.round((toMs - fromMs) / 1000))}`;
}

function zoneOf(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function waitsForYou(
  { sites_waiting: sites, operations_waiting: operations }: Overview,
  base: string,
): Markup | string {
  if (sites === 0 && operations === 0) return '';
  return html`<div class="note wait">
    <h2>Waits for you</h2>
    <ul>
      ${
        sites === 0
          ? ''
          : html`<li>
              <a href="${base}/applications">${amount(sites, 'site waits', 'sites wait')} for approval</a>
            </li>`
      }
      ${
        operations === 0
          ? ''
          : html`<li>
              ${amount(operations, 'change of a provider waits', 'changes of providers wait')} for the Queue
              Manager
            </li>`
      }
    </ul>
  </div>`;
}

function toKnow(reasons: readonly string[]): Markup | string {
  // What waits for approval is said above.
  const others = reasons.filter(reason => !reason.endsWith('lccrs list'));
  if (others.length === 0) return html`<div class="note good"><p>All is well.</p></div>`;
  return html`<div class="note">
    <h2>To know</h2>
    <ul>
      ${others.map(reason => html`<li>${capital(reason)}</li>`)}
    </ul>
  </div>`;
}

function tiles({ figures, providers, registered }: Overview): Markup {
  const known = (name: string, unit: GraphView['unit']) =>
    figures[name] === undefined ? '–' : valueText(figures[name], unit);
  const fetched =
    figures['stored_per_s'] === undefined
      ? '–'
      : valueText(figures['stored_per_s'] + (figures['unchanged_per_s'] ?? 0), 'urls/s');
  return html`<div class="tiles">
    ${tileOf('Waiting', known('waiting', 'urls'), 'urls')} ${tileOf('Fetched', fetched, 'urls a second')}
    ${tileOf('Received', known('bytes_per_s', 'bytes/s'), 'from sites')}
    ${tileOf('Providers', valueText(providers, 'count'), `${valueText(registered, 'count')} registered by themselves`)}
  </div>`;
}

function spanLink(base: string, step: SeriesStep, current: SeriesStep, label: string): Markup {
  return html`<a href="${base}?step=${step}" ${step === current ? html`aria-current="page"` : ''}
    >${label}</a
  >`;
}
