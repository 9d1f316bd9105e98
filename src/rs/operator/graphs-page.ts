/** Figures over time: the queue by age, rates, machines. */
import { html, raw } from 'hono/html';
import { formatDuration } from '../../config/words.js';
import type { SeriesMoment, SeriesStep } from '../../db/rs/series.js';
import { textOf, type Markup } from '../pages/layout.js';
import { graphsOf, type GraphTimes, type GraphView } from './graph.js';
import { freshness } from './markup.js';
import type { OperatorViews } from './views.js';

/** Graphs: of the queue by age, the others each from 0. */
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
const DRAWN = new WeakMap<readonly SeriesMoment[], Markup>();

function drawnOf(moments: readonly SeriesMoment[], times: GraphTimes): Markup {
  const drawn = DRAWN.get(moments) ?? raw(textOf(graphsOf(GRAPHS, moments, times)));
  DRAWN.set(moments, drawn);
  return drawn;
}

export function graphsPage(views: OperatorViews, step: SeriesStep, base: string, nowMs: number): Markup {
  return html`<h1>Graphs</h1>
    ${freshness(views.overview(), nowMs)}
    <nav class="spans" aria-label="Time of the graphs">
      ${spanLink(base, 'fine', step, spanText(views.spanOf('fine')))}
      ${spanLink(base, 'coarse', step, spanText(views.spanOf('coarse')))}
    </nav>
    <div class="graphs">${drawnOf(views.moments(step), views.spanOf(step))}</div>
    <p class="fresh">
      Times are those of the machine of the cache, ${Intl.DateTimeFormat().resolvedOptions().timeZone}.
    </p>`;
}

/** `The last 60 min`. */
function spanText({ fromMs, toMs }: GraphTimes): string {
  return `The last ${formatDuration(Math.round((toMs - fromMs) / 1000))}`;
}

function spanLink(base: string, step: SeriesStep, current: SeriesStep, label: string): Markup {
  return html`<a href="${base}/graphs?step=${step}" ${step === current ? html`aria-current="page"` : ''}
    >${label}</a
  >`;
}
