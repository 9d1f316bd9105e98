/** The first page of operators: what waits for them, why nothing moves, and graphs. */
import { html, raw } from 'hono/html';
import { amount, formatDuration } from '../../config/words.js';
import type { SeriesMoment, SeriesStep } from '../../db/rs/series.js';
import { capital, textOf, type Markup } from '../pages/layout.js';
import { graphsOf, valueText, type GraphTimes, type GraphView } from './graph.js';
import { freshness, sinceText, tileOf } from './markup.js';
import type { OperatorViews, Overview } from './views.js';

/** Of the queue by age, the others each from 0. */
const GRAPHS: readonly GraphView[] = [
  {
    ...graph('queue', 'Urls that wait, by age', 'urls', {
      age_0: 'under 5 min',
      age_1: 'to 40 min',
      age_2: 'to 5 h',
      age_3: 'to 21 h',
      age_4: 'older',
    }),
    isStacked: true,
  },
  graph('rate', 'Fetched a second', 'urls/s', { stored_per_s: 'stored', unchanged_per_s: 'unchanged' }),
  graph('errors', 'Failed a second', 'urls/s', {
    errors_per_s: 'told to the provider',
    retries_per_s: 'tried again',
  }),
  graph('bytes', 'Received a second', 'bytes/s', { bytes_per_s: 'from sites' }),
  graph('machines', 'Fetches at a time', 'count', {
    slots: 'slots of all machines',
    in_flight: 'urls on their way',
  }),
];

/** @param labels of the figures, each a line */
function graph(
  id: string,
  title: string,
  unit: GraphView['unit'],
  labels: Record<string, string>,
): GraphView {
  return { id, title, unit, lines: Object.entries(labels).map(([figure, label]) => ({ figure, label })) };
}

/** The graphs as all browsers get them, drawn once for the same moments. */
export class DrawnGraphs {
  readonly #drawn = new WeakMap<readonly SeriesMoment[], Markup>();

  of(moments: readonly SeriesMoment[], times: GraphTimes): Markup {
    const drawn = this.#drawn.get(moments) ?? raw(textOf(graphsOf(GRAPHS, moments, times)));
    this.#drawn.set(moments, drawn);
    return drawn;
  }
}

export function overviewPage(
  views: OperatorViews,
  graphs: DrawnGraphs,
  step: SeriesStep,
  base: string,
  nowMs: number,
): Markup {
  const overview = views.overview();
  const moments = views.moments(step);
  const times = views.spanOf(step);
  const waiting = waits(overview, base, nowMs);
  return html`<h1>Overview</h1>
    <p class="lead">${capital(overview.summary)}.</p>
    ${freshness(overview, nowMs)}
    <div class="two">${waiting} ${toKnow(overview.reasons, waiting === '')}</div>
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
      ${graphs.of(moments, times)}
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

function waits(
  {
    sites_waiting: sites,
    operations_waiting: operations,
    mails_waiting: mails,
    mail_since: mailSince,
    mail_trouble: trouble,
  }: Overview,
  base: string,
  nowMs: number,
): Markup | string {
  if (sites === 0 && operations === 0 && mails === 0) return '';
  return html`<div class="note wait">
    <h2>${sites > 0 ? 'Waits for you' : 'Waits'}</h2>
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
      ${
        mailSince === null
          ? ''
          : html`<li>
              ${amount(mails, 'mail waits', 'mails wait')} for the mail server, the oldest
              ${sinceText(mailSince, nowMs)}${trouble === null ? '' : `: ${trouble}`}
            </li>`
      }
    </ul>
  </div>`;
}

/** @param isAll nothing else is said */
function toKnow(reasons: readonly string[], isAll: boolean): Markup | string {
  // What waits for approval, or for the mail server, is said above.
  const others = reasons.filter(
    reason => !/; lccrs list$|^\d+ mails? waits? for the server of rs\.smtp: /.test(reason),
  );
  if (others.length === 0)
    return html`<div class="note good"><p>${isAll ? 'All is well.' : 'All else is well.'}</p></div>`;
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
    ${tileOf('Waiting', known('waiting', 'urls'), 'urls')}
    ${tileOf('Fetched', fetched, 'stored or unchanged')}
    ${tileOf('Received', known('bytes_per_s', 'bytes/s'), 'from sites')}
    ${tileOf('Providers', valueText(providers, 'count'), `${valueText(registered, 'count')} registered by themselves`)}
  </div>`;
}

function spanLink(base: string, step: SeriesStep, current: SeriesStep, label: string): Markup {
  return html`<a href="${base}?step=${step}" ${step === current ? html`aria-current="page"` : ''}
    >${label}</a
  >`;
}
