/** A graph as SVG, complete without JavaScript: axes with units, a title and a description for those who do
 * not see it, gaps where nothing is known. Colours are those of the style sheet. */
import { html } from 'hono/html';
import type { SeriesMoment } from '../../db/rs/series.js';
import type { Markup } from '../pages/layout.js';
import { bytesText, countText } from '../pages/numbers.js';
import { timeTicks, valueTicks } from './scale.js';
import { meansOf } from './recorder.js';

/** Width of the field that lines are drawn in, which is that of the page, whatever that is. */
const WIDTH = 1000;
const HEIGHT = 180;
/** Around it, in pixels; at its left the style sheet leaves room for the labels of values. */
const TOP = 12;
const BELOW = 22;
/** Points drawn at most: more are put together. */
const MOST_POINTS = 400;
/** A time without figures is a gap when it is longer than this many steps. */
const GAP_STEPS = 2.5;

const KIND_OF_UNIT = { urls: 'whole', count: 'whole', 'urls/s': 'rate', 'bytes/s': 'bytes' } as const;

export interface GraphLine {
  figure: string;
  label: string;
}

export interface GraphView {
  /** Id of the element. */
  id: string;
  title: string;
  unit: 'urls' | 'urls/s' | 'bytes/s' | 'count';
  /** One on top of the other, or each from 0. */
  isStacked?: true;
  /** Lines of a stack, the lowest first. */
  lines: readonly GraphLine[];
}

export interface GraphTimes {
  fromMs: number;
  toMs: number;
  stepMs: number;
}

interface Point {
  atMs: number;
  /** By line; of a stack the sum up to it. Undefined: not known. */
  values: (number | undefined)[];
}

/** Several graphs of the same moments. */
export function graphsOf(
  views: readonly GraphView[],
  moments: readonly SeriesMoment[],
  times: GraphTimes,
): Markup {
  const drawn = thinned(moments, times);
  return html`${views.map(view => graphOf(view, moments, drawn, times))}`;
}

/** @param drawn of the moments as many as there is room for */
function graphOf(
  view: GraphView,
  moments: readonly SeriesMoment[],
  drawn: readonly SeriesMoment[],
  times: GraphTimes,
): Markup {
  const { id, title, lines } = view;
  const points = pointsOf(view, drawn);
  const most = Math.max(0, ...points.flatMap(({ values }) => values.map(value => value ?? 0)));
  const ticks = valueTicks(most, KIND_OF_UNIT[view.unit]);
  const top = ticks.at(-1) ?? 1;
  const x = (atMs: number) => ((atMs - times.fromMs) / Math.max(1, times.toMs - times.fromMs)) * WIDTH;
  const y = (value: number) => HEIGHT - (value / top) * HEIGHT;
  const n = (value: number) => value.toFixed(1).replace(/\.0$/, '');
  const runs = runsOf(points, times.stepMs);
  const shapes = lines.map((_line, i) => {
    const paths = runs.map(run => {
      const known = run.filter(({ values }) => values[i] !== undefined);
      const [first] = known;
      const last = known.at(-1);
      if (first === undefined || last === undefined) return '';
      const line = known.map(({ atMs, values }) => `${n(x(atMs))} ${n(y(values[i] ?? 0))}`);
      if (view.isStacked !== true) return known.length === 1 ? `M${line[0]}h0.1` : `M${line.join('L')}`;
      const below = known
        .map(({ atMs, values }) => `${n(x(atMs))} ${n(y(i === 0 ? 0 : (values[i - 1] ?? 0)))}`)
        .toReversed();
      return `M${line.join('L')}L${below.join('L')}Z`;
    });
    return html`<path
      class="${view.isStacked === true ? 'area' : 'line'} s${String(i)}"
      d="${paths.join('')}"
    />`;
  });
  const timeLabels = timeTicks(times.fromMs, times.toMs);
  return html`<figure class="graph">
    <figcaption id="${id}-title">${title}</figcaption>
    <div class="plot">
      <svg role="img" aria-labelledby="${id}-title" aria-describedby="${id}-desc">
        <desc id="${id}-desc">${describe(view, moments, times)}</desc>
        ${ticks.map(
          tick =>
            html`<text x="-8" y="${n(TOP + y(tick) + 4)}" text-anchor="end">
              ${valueText(tick, view.unit, top)}
            </text>`,
        )}
        <svg
          class="field"
          y="${String(TOP)}"
          height="${String(HEIGHT)}"
          viewBox="0 0 ${String(WIDTH)} ${String(HEIGHT)}"
          preserveAspectRatio="none"
        >
          <path class="grid" d="${ticks.map(tick => `M0 ${n(y(tick))}H${WIDTH}`).join('')}" />
          ${shapes}
        </svg>
        <svg class="field" y="${String(TOP + HEIGHT)}" height="${String(BELOW)}">
          ${timeLabels.map(
            ({ atMs, label }, i) =>
              html`<text
                class="${i % (label.length > 5 ? 4 : 2) === 0 ? 'even' : 'odd'}"
                x="${n(x(atMs) / 10)}%"
                y="18"
                text-anchor="middle"
              >
                ${label}
              </text>`,
          )}
        </svg>
        ${
          points.length === 0
            ? html`<text class="none" x="50%" y="${String(TOP + HEIGHT / 2)}" text-anchor="middle"
                >Nothing yet</text
              >`
            : ''
        }
      </svg>
    </div>
    ${legend(view, moments)}
  </figure>`;
}

/** Meaning of each line, and its value now. */
function legend({ lines, unit }: GraphView, moments: readonly SeriesMoment[]): Markup {
  const now = moments.at(-1)?.figures ?? {};
  return html`<ul class="legend">
    ${lines.map(({ figure, label }, i) => {
      const value = now[figure];
      return html`<li>
        <span class="swatch s${String(i)}" aria-hidden="true"></span><span class="label">${label}</span>
        <b>${value === undefined ? '–' : valueText(value, unit)}</b>
      </li>`;
    })}
  </ul>`;
}

/** For those who do not see it: what is drawn, how it begins, ends, and how high it goes. */
function describe(
  { lines, unit, isStacked }: GraphView,
  moments: readonly SeriesMoment[],
  times: GraphTimes,
): string {
  const span = times.toMs - times.fromMs > 86_400_000 ? 'days' : 'minutes';
  const length = Math.round((times.toMs - times.fromMs) / (span === 'days' ? 86_400_000 : 60_000));
  const parts = lines.map(({ figure, label }) => {
    const values = moments.flatMap(({ figures }) => (figures[figure] === undefined ? [] : [figures[figure]]));
    if (values.length === 0) return `${label}: not known`;
    return `${label}: ${valueText(values.at(-1) ?? 0, unit)} now, ${valueText(Math.max(...values), unit)} at most`;
  });
  return `The last ${length} ${span}${isStacked === true ? ', one on top of the other' : ''}. ${parts.join('. ')}.`;
}

export function valueText(value: number, unit: GraphView['unit'], most = value): string {
  if (unit === 'bytes/s') return `${bytesText(value).replace(/ bytes?$/, ' B')}/s`;
  const digits = most < 10 && !Number.isInteger(value) ? (most < 0.1 ? 2 : 1) : 0;
  if (unit === 'urls/s') return `${value.toLocaleString('en', { maximumFractionDigits: digits })}/s`;
  return value >= 100_000
    ? value.toLocaleString('en', { notation: 'compact', maximumFractionDigits: 1 })
    : countText(Math.round(value));
}

/** As many moments as a graph has room for: means of those that fall together. */
function thinned(moments: readonly SeriesMoment[], { stepMs, fromMs, toMs }: GraphTimes): SeriesMoment[] {
  const together = Math.ceil((toMs - fromMs) / stepMs / MOST_POINTS);
  if (together <= 1) return [...moments];
  const widthMs = stepMs * together;
  const groups = new Map<number, SeriesMoment[]>();
  for (const moment of moments) {
    const beginMs = Math.floor(moment.atMs / widthMs) * widthMs;
    groups.set(beginMs, [...(groups.get(beginMs) ?? []), moment]);
  }
  return [...groups].map(([atMs, group]) => ({ atMs, figures: meansOf(group) }));
}

function pointsOf({ lines, isStacked }: GraphView, moments: readonly SeriesMoment[]): Point[] {
  return moments.map(({ atMs, figures }) => {
    let sum = 0;
    const values = lines.map(({ figure }) => {
      const value = figures[figure];
      if (isStacked !== true || value === undefined) return value;
      sum += value;
      return sum;
    });
    return { atMs, values };
  });
}

/** Points without a gap between them. */
function runsOf(points: readonly Point[], stepMs: number): Point[][] {
  const runs: Point[][] = [];
  for (const point of points) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run === undefined || last === undefined || point.atMs - last.atMs > stepMs * GAP_STEPS)
      runs.push([point]);
    else run.push(point);
  }
  return runs;
}
