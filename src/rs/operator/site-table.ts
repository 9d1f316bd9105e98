/** Sites as rows: how each stands, when it was heard of last, its last sets as bars, what waits, errors. */
import { html } from 'hono/html';
import type { RsProviderRow, TakenSet } from '../../wire/rs-looks.js';
import { MAX_SETS_SHOWN } from '../../wire/rs-looks.js';
import { amount } from '../../config/words.js';
import { codeBlock, type Markup } from '../pages/layout.js';
import { countText } from '../pages/numbers.js';
import { tableOf, type Column } from '../pages/table.js';
import { agoOf, momentText } from '../pages/times.js';
import { numberCell } from './markup.js';

/** Pixels of a bar and the space beside it, and of the highest one. */
const STEP = 6;
const BAR = 4;
const HEIGHT = 22;
/** Height of a set that names nothing, and of each power of ten. */
const LEAST = 3;
const PER_POWER = 5;

/** @param more columns after these */
export function siteTable(
  label: string,
  rows: readonly RsProviderRow[],
  base: string,
  nowMs: number,
  more: readonly Column<RsProviderRow>[] = [],
): Markup {
  const columns: Column<RsProviderRow>[] = [
    {
      head: 'Site',
      kind: 'wide',
      cell: ({ pid, root, roots }) =>
        html`<a href="${base}/providers/${String(pid)}">${root === '' ? `provider ${pid}` : root}</a>
          <span class="fresh"
            >${String(pid)}${roots > 1 ? `, and ${amount(roots - 1, 'more directory', 'more directories')}` : ''}</span
          >`,
    },
    { head: 'State', cell: row => stateOf(row, nowMs) },
    {
      head: 'Last heard',
      kind: 'time',
      cell: ({ heard_ms: ms }) => (ms === 0 ? html`<span class="zero">never</span>` : agoOf(ms, nowMs)),
    },
    { head: `Last ${MAX_SETS_SHOWN} sets`, cell: ({ sets }) => setBars(sets) },
    { head: 'Waiting', kind: 'number', cell: ({ waiting }) => numberCell(waiting) },
    {
      head: 'Errors',
      kind: 'number',
      cell: ({ pid, errors }) =>
        errors === 0
          ? numberCell(0)
          : html`<a class="bad" href="${base}/providers/${String(pid)}/errors">${countText(errors)}</a>`,
    },
    ...more,
  ];
  return tableOf(label, columns, rows);
}

/** Meaning of the bars of a table. */
export function barsLegend(): Markup {
  return html`<p class="fresh legend bars-legend">
    <span><span class="swatch set" aria-hidden="true"></span>changes: the more pages, the higher</span>
    <span><span class="swatch full" aria-hidden="true"></span>all of the site</span>
    <span><span class="swatch none" aria-hidden="true"></span>nothing new</span>
    <span><span class="swatch taking" aria-hidden="true"></span>being taken</span>
    <span><span class="swatch held" aria-hidden="true"></span>removals held back</span>
  </p>`;
}

/** The oldest at the left. */
function setBars(sets: readonly TakenSet[]): Markup {
  if (sets.length === 0) return html`<span class="zero">none yet</span>`;
  const width = sets.length * STEP;
  const full = sets.filter(({ isfull }) => isfull === 1).length;
  const held = sets.filter(set => set.held === 1).length;
  const label = `${amount(sets.length, 'set')}, the newest at the right; ${full} of all of the site${held > 0 ? `, ${held} with removals held back` : ''}`;
  return html`<svg
    class="sets"
    role="img"
    aria-label="${label}"
    viewBox="0 0 ${String(width)} ${String(HEIGHT)}"
    width="${String(width)}"
    height="${String(HEIGHT)}"
  >
    ${sets.map((set, i) => {
      const height = heightOf(set);
      return html`<rect
        class="${kindOf(set)}"
        x="${String(width - (i + 1) * STEP)}"
        y="${String(HEIGHT - height)}"
        width="${String(BAR)}"
        height="${String(height)}"
      >
        <title>${titleOf(set)}</title>
      </rect>`;
    })}
  </svg>`;
}

function heightOf({ queued, deleted }: TakenSet): number {
  const urls = queued + deleted;
  return urls === 0 ? LEAST : Math.min(HEIGHT, Math.round(LEAST + PER_POWER * Math.log10(urls * 2)));
}

function kindOf({ held, complete, isfull, queued, deleted }: TakenSet): string {
  if (held === 1) return 'held';
  if (complete === 0) return 'taking';
  if (queued + deleted === 0) return 'none';
  return isfull === 1 ? 'full' : 'set';
}

function titleOf({ at, isfull, complete, held, queued, deleted, duplicate, unchanged }: TakenSet): string {
  const what = isfull === 1 ? 'all of the site' : 'changes';
  const state = `${complete === 1 ? '' : ', being taken'}${held === 1 ? ', removals held back' : ''}`;
  return `${momentText(at * 1000)}: ${what}${state}; ${queued} new or changed, ${unchanged + duplicate} unchanged, ${deleted} removed`;
}

function stateOf(row: RsProviderRow, nowMs: number): Markup {
  const { enabled, paused, left_alone_until_ms: untilMs, crawled, full_set_wanted: wanted, origin } = row;
  const [tone, words] = !enabled
    ? ['bad', 'disabled']
    : paused
      ? ['wait', 'paused']
      : untilMs > nowMs
        ? ['bad', 'does not answer']
        : ['good', 'enabled'];
  return html`<span class="state ${tone}">${words}</span>
    ${wanted === null ? '' : html` <span class="state wait">full set wanted</span>`}
    ${crawled ? html` <span class="fresh">crawled</span>` : origin === 'rs' ? html` <span class="fresh">by itself</span>` : ''}`;
}

/** How sites come to this LCC. @param register where they register; '' where they cannot */
export function addSite(register: string): Markup {
  return html`<section class="card" aria-labelledby="add">
    <h2 id="add">Add a site</h2>
    <ul>
      ${
        register === ''
          ? ''
          : html`<li>
              It registers by itself, at <a href="${register}">${register}</a>, and stands here afterwards.
            </li>`
      }
      <li>
        You add it: this prints the password, which the site's lcccp needs.
        ${codeBlock('(umask 077; lccpidb add --pid=1 --root=http://www.example.org/ > site.pwd)', 'a command that adds a site')}
      </li>
      <li>
        One that announces nothing is crawled.
        ${codeBlock('lccpidb add --pid=100 --root=http://www.example.org/ --spider=yes\necho http://www.example.org/ | lcclinks --seeds --deliver', 'commands that add a site, and crawl it')}
      </li>
    </ul>
  </section>`;
}
