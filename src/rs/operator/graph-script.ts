/**
 * The script of the overview: uPlot over the graphs that the server drew, with the values under the pointer, and with figures that are
 * asked for again without the page. Without it, or before there are figures, the page stays as the server drew it.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { GAP_STEPS } from './graph.js';

const GRAPH_SCRIPT = `'use strict';
(() => {
  const holder = document.getElementById('graphs');
  if (!holder || typeof uPlot === 'undefined') return;
  const { series: address, zone } = holder.dataset;
  const spanS = Number(holder.dataset.spanMs) / 1000;
  const charts = new Map();
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const font = '13px ' + getComputedStyle(document.body).fontFamily;

  const number = (value, digits) => value.toLocaleString('en', { maximumFractionDigits: digits });
  const bytes = value => {
    let unit = 0;
    for (; value >= 1023.5 && unit < 4; unit++) value /= 1024;
    return number(value, unit > 0 && value < 9.95 ? 1 : 0) + ' ' + ['B', 'KB', 'MB', 'GB', 'TB'][unit] + '/s';
  };
  const valueText = (value, unit, most = value) => {
    if (value === null || value === undefined) return '–';
    if (unit === 'bytes/s') return bytes(value);
    if (unit === 'urls/s') return number(value, most >= 10 ? 0 : most < 0.1 ? 2 : 1) + '/s';
    if (value < 100000) return number(Math.round(value), 0);
    return value.toLocaleString('en', { notation: 'compact', maximumFractionDigits: 1 });
  };
  const timeText = (seconds, options) =>
    new Date(seconds * 1000).toLocaleString('en', { timeZone: zone, hourCycle: 'h23', ...options });
  const clock = { hour: '2-digit', minute: '2-digit' };
  const day = { month: 'short', day: 'numeric' };
  const second = { second: '2-digit' };

  /** By column: seconds, then what each line is worth; without a value where nothing was seen for long. */
  const columnsOf = ({ figures }, { times, step_ms: stepMs, figures: known }) => {
    const rows = [];
    times.forEach((atMs, i) => {
      const gapMs = i > 0 ? atMs - times[i - 1] : 0;
      if (gapMs > ${GAP_STEPS} * stepMs) rows.push([(atMs - gapMs / 2) / 1000, ...figures.map(() => null)]);
      rows.push([atMs / 1000, ...figures.map(name => known[name]?.[i] ?? null)]);
    });
    return ['', ...figures].map((_name, column) => rows.map(row => row[column]));
  };
  const stackOf = ([at, ...lines]) => {
    const sums = at.map(() => 0);
    return [at, ...lines.map(line => line.map((value, i) => (value === null ? null : (sums[i] += value))))];
  };

  class Chart {
    constructor(figure) {
      this.view = JSON.parse(figure.dataset.graph);
      this.plot = figure.querySelector('.plot');
      this.title = figure.querySelector('figcaption').textContent;
      this.values = [...figure.querySelectorAll('.legend b')];
      this.labels = [...figure.querySelectorAll('.legend li')].map(item => item.querySelector('.label').textContent);
      this.at = document.createElement('li');
      this.at.className = 'at';
      figure.querySelector('.legend').append(this.at);
      this.plot.classList.add('live');
    }
    get width() {
      return Math.floor(this.plot.getBoundingClientRect().width);
    }
    show(told) {
      this.columns = columnsOf(this.view, told);
      const drawn = this.view.isStacked ? stackOf(this.columns) : this.columns;
      if (this.chart) this.chart.setData(drawn);
      else this.begin(drawn);
      const now = this.view.figures.map((_name, i) => this.labels[i] + ': ' + this.text(i, this.columns[0].length - 1));
      this.chart.root.setAttribute('aria-label', this.title + '. Now ' + now.join(', '));
      this.say();
    }
    text(line, i) {
      return valueText(this.columns[line + 1][i], this.view.unit);
    }
    /** The values under the pointer, or those of now. */
    say() {
      const { idx } = this.chart.cursor;
      const isUnder = idx !== null && idx !== undefined && idx < this.columns[0].length;
      const last = this.columns[0].length - 1;
      this.values.forEach((value, i) => (value.textContent = this.text(i, isUnder ? idx : last)));
      this.at.textContent = isUnder ? 'at ' + timeText(this.columns[0][idx], { ...day, ...clock, ...second }) : '';
    }
    begin(drawn) {
      const { unit, figures, isStacked } = this.view;
      const from = unit === 'urls' || unit === 'count' ? 1 : 0.01;
      const steps = unit === 'bytes/s'
        ? [0, 1, 2, 3, 4].flatMap(power => [1, 2, 5, 10, 20, 50, 100, 200, 500].map(step => step * 1024 ** power))
        : Array.from({ length: 12 }, (_, power) => [1, 2, 5].map(step => step * from * 10 ** power)).flat();
      const least = unit === 'bytes/s' ? 4096 : unit === 'urls/s' ? 1 : 4;
      const axis = { stroke: () => colour('--soft'), font, ticks: { show: false } };
      const grid = { stroke: () => colour('--line'), width: 1 };
      const painted = i => ({ stroke: () => colour('--s' + i), width: isStacked ? 1 : 2, points: { show: false } });
      const fill = i => () => colour('--s' + i) + 'cc';
      this.chart = new uPlot(
        {
          width: this.width,
          height: 216,
          // Half of the last time label is right of its line.
          padding: [12, 34, 0, 0],
          legend: { show: false },
          cursor: { drag: { x: false, y: false }, sync: { key: 'overview' }, points: { size: 8 } },
          tzDate: seconds => uPlot.tzDate(new Date(seconds * 1000), zone),
          scales: {
            x: { range: self => [self.data[0].at(-1) - spanS, self.data[0].at(-1)] },
            y: { range: (_self, _min, max) => [0, Math.max(least, (max ?? 0) * 1.08)] },
          },
          axes: [
            {
              ...axis,
              grid: { show: false },
              size: 30,
              space: 76,
              values: (_self, splits, _axis, _space, step) =>
                splits.map(at => timeText(at, step >= 86400 ? day : step < 60 ? { ...clock, ...second } : clock)),
            },
            {
              ...axis,
              grid,
              size: 74,
              incrs: steps,
              values: (_self, splits) => splits.map(value => valueText(value, unit, splits.at(-1))),
            },
          ],
          series: [
            {},
            ...figures.map((_name, i) => ({ ...painted(i), ...(isStacked && i === 0 && { fill: fill(0) }) })),
          ],
          bands: isStacked
            ? figures.slice(1).map((_name, i) => ({ series: [i + 2, i + 1], fill: fill(i + 1) }))
            : [],
          hooks: { setCursor: [() => this.chart && this.say()] },
        },
        drawn,
        this.plot,
      );
      this.chart.root.setAttribute('role', 'img');
      new ResizeObserver(() => {
        if (this.width > 0) this.chart.setSize({ width: this.width, height: 216 });
      }).observe(this.plot);
    }
  }

  const look = async () => {
    try {
      const answer = await fetch(address);
      const told = await answer.json();
      if (told.times.length > 0) {
        // The script of all pages leaves it where it is.
        holder.dataset.kept = '';
        for (const figure of holder.querySelectorAll('figure')) {
          if (!charts.has(figure)) charts.set(figure, new Chart(figure));
          charts.get(figure).show(told);
        }
      }
    } catch {
      // Logged out, or the server is away: it looks again in any case.
    }
    setTimeout(look, Number(document.querySelector('main').dataset.refresh) * 1000 || 10000);
  };
  // Of a pointer that leaves while the page is loaded again around them the graphs are not told.
  addEventListener('mousemove', ({ target }) => {
    if (target instanceof Element && target.closest('.u-over')) return;
    for (const { chart } of charts.values()) if (chart.cursor.left >= 0) chart.setCursor({ left: -10, top: -10 });
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const { chart } of charts.values()) chart.redraw(false, true);
  });
  look();
})();
`;

/** Files of the overview, by name below `static`: Content-Type and content. */
export function graphFiles(): readonly (readonly [name: string, type: string, text: string])[] {
  const require = createRequire(join(import.meta.dirname, 'graph-script.js'));
  const read = (name: string) => readFileSync(require.resolve(`uplot/dist/${name}`), 'utf8');
  return [
    ['uplot.js', 'text/javascript; charset=utf-8', read('uPlot.iife.min.js')],
    ['uplot.css', 'text/css; charset=utf-8', read('uPlot.min.css')],
    ['graphs.js', 'text/javascript; charset=utf-8', GRAPH_SCRIPT],
  ];
}

/** Another one for other files. */
export function versionOf(text: string): string {
  return hash('sha256', text).slice(0, 12);
}
