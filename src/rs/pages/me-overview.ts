/** How a provider stands: what it has, what waits, whether it is fetched from now, the line for its crontab,
 * its last sets. */
import { html } from 'hono/html';
import { hoursOfMask, opensAtMs, permits, slotOf, type Slots } from '../../config/hours.js';
import { amount } from '../../config/words.js';
import { fullSetRation } from '../../db/providers/pidb.js';
import type { ShownProvider } from '../../db/providers/registered.js';
import { crontabLines } from '../../wire/crontab.js';
import type { TakenSet } from '../../wire/rs-looks.js';
import { codeBlock, tileOf, type Markup } from './layout.js';
import { truthSection } from './me-truth.js';
import { bytesText, countText } from './numbers.js';
import { ON_SITE } from './pair.js';
import { tableOf, type Column } from './table.js';
import { agoOf, untilOf } from './times.js';

/** Sets that a provider sees of its own. */
const OWN_SETS = 20;

export interface OverviewView {
  provider: ShownProvider;
  base: string;
  /** How the commands are installed. */
  install: Markup;
  /** Where it delivers to. */
  uns: string;
  slots: Slots;
  fullSetPeriodMs: number;
  /** Time zone of the provider, as IANA names it. */
  zone: string | undefined;
  nowMs: number;
}

export function overview(view: OverviewView): Markup {
  const { provider, nowMs, zone } = view;
  const { roots, pid, lastconntime, sets } = provider;
  const [root = ''] = roots;
  const isNew = lastconntime === 0 && provider.lastset === 0;
  const [tone, words, detail] = fetchingNow(view);
  return html`<h1${roots.length === 1 ? html` class="address"` : ''}>${roots.length === 1 ? root : `Provider ${pid}`}</h1>
    <p class="standing"><span class="state ${tone}">${words}</span> <span>${detail}</span></p>
    ${leaving(view)} ${wanted(provider)} ${isNew ? nextStep(view, isNew) : ''} ${tiles(view)}
    ${sets.length === 0 ? '' : setsTable('What you announced last', sets.slice(0, OWN_SETS), nowMs, zone)} ${isNew ? '' : truthSection(provider, nowMs, zone)}
    ${isNew ? '' : nextStep(view, isNew)}`;
}

/** True if it is fetched from now, and if not, why. */
function fetchingNow({
  provider,
  base,
  slots,
  nowMs,
  zone,
}: OverviewView): readonly [tone: 'good' | 'wait' | 'bad', words: string, detail: Markup | string] {
  const { paused, timeofday, backoffuntil, nurlproc, nurlerrs, lastset, lastconntime, enabled } = provider;
  if (!enabled) return ['bad', 'leaving', 'Your site is not fetched from.'];
  if (paused !== 0)
    return ['bad', 'paused', 'The operator has stopped fetching from your site. What waits is kept.'];
  const backoffMs = backoffuntil * 1000;
  if (backoffMs > nowMs) {
    const detail = html`It is asked again ${untilOf(backoffMs, zone)}. What waits is kept.`;
    return ['bad', 'your site does not answer', detail];
  }
  const hours = hoursOfMask(timeofday, slots);
  if (nurlproc > 0 && !permits(hours, slotOf(nowMs, slots))) {
    const opensMs = opensAtMs(hours, nowMs, slots);
    const detail =
      opensMs === undefined
        ? 'You permit no hour: change that under Terms.'
        : html`Your hours begin ${untilOf(opensMs, zone)}.`;
    return ['wait', 'waits for your hours', detail];
  }
  if (nurlproc > 0) return ['good', 'is being fetched', ''];
  if (lastset === 0 && lastconntime === 0)
    return ['wait', 'waits for your first list', 'Your site has announced nothing yet.'];
  if (nurlerrs === 0) return ['good', 'up to date', 'Nothing waits to be fetched.'];
  const detail = html`Nothing waits; <a href="${base}/me/errors">${amount(nurlerrs, 'error')}</a> came of what
    you announced.`;
  return ['bad', 'not all could be fetched', detail];
}

function leaving({ provider: { leaveat }, base, zone }: OverviewView): Markup | string {
  if (leaveat === null) return '';
  return html`<div class="note bad">
    <h2>You are leaving</h2>
    <p>
      What is kept of your site is removed ${untilOf(leaveat * 1000, zone)}.
      <a href="${base}/me/leave">Stay after all</a>
    </p>
  </div>`;
}

function wanted({ fullsetwanted }: ShownProvider): Markup | string {
  if (fullsetwanted === null) return '';
  return html`<div class="note wait">
    <h2>A complete list of your site is wanted</h2>
    <p>
      The next run of your crontab line sends it by itself; it counts as none of your full sets. The reason:
      ${fullsetwanted}
    </p>
  </div>`;
}

function tiles({ provider, base, nowMs, fullSetPeriodMs }: OverviewView): Markup {
  const { filesused, filesmax, spaceused, spacemax, nurlproc, nurlerrs } = provider;
  const fullsetsallowed = provider.truthfulness?.full_sets ?? provider.fullsetsallowed;
  const { allowed } = fullSetRation({ ...provider, fullsetsallowed }, 0, nowMs, fullSetPeriodMs);
  return html`<div class="tiles">
    ${used('Pages and files', filesused, filesmax, countText)}
    ${used('Space', spaceused, spacemax, bytesText)}
    ${tileOf('Waiting', countText(nurlproc), `${nurlproc === 1 ? 'page' : 'pages'} to be fetched`)}
    ${tileOf('Errors', countText(nurlerrs), nurlerrs > 0 ? html`<a href="${base}/me/errors">What to do</a>` : 'none to look at', { tone: nurlerrs > 0 ? 'bad' : '' })}
    ${tileOf('Full sets left', countText(allowed), 'complete lists', { more: html`<small>of ${countText(fullsetsallowed)}</small>` })}
  </div>`;
}

const WARN_PERCENT = 90;

/** An amount of what there may be, also as a bar. */
function used(label: string, value: number, most: number, text: (amount: number) => string): Markup {
  const percent = most === 0 ? 100 : Math.min(100, (100 * value) / most);
  const tone = percent >= 100 ? 'bad' : percent >= WARN_PERCENT ? 'wait' : '';
  const bar = html`<svg
    class="bar ${tone}"
    viewBox="0 0 100 4"
    preserveAspectRatio="none"
    aria-hidden="true"
    focusable="false"
  >
    <rect width="${percent.toFixed(1)}" height="4" />
  </svg>`;
  return tileOf(label, text(value), `of ${text(most)}${percent >= 100 ? ': full' : ''}`, {
    tone,
    below: bar,
  });
}

function nextStep({ provider, install, uns, nowMs, zone }: OverviewView, isNew: boolean): Markup {
  const { pid, roots, lastconntime } = provider;
  const entries = crontabLines(roots, { ...ON_SITE, pid, uns });
  const isOne = entries.length === 1;
  const [what, these] = isOne ? ['line', 'this line'] : ['lines', 'these lines, one for each host'];
  return html`<h2 id="line">${isNew ? `Next: the ${what} for your crontab` : `Your crontab ${what}`}</h2>
    <p>
      ${isNew ? html`Run <code>crontab -e</code>, and add ${these}. ` : ''}Put the directory of your pages in
      the place of ${entries.map(({ docroot }, i) => html`${i === 0 ? '' : ', '}<code>${docroot}</code>`)};
      the password is in <code>~/.lcc-password</code>.
      ${lastconntime === 0 ? '' : html`${isOne ? 'It was' : 'They were'} heard of ${agoOf(lastconntime * 1000, nowMs, zone)}.`}
    </p>
    ${entries.map(({ host, line }) => codeBlock(line, isOne ? 'the line for your crontab' : `the line of ${host} for your crontab`))}
    ${
      isNew
        ? install
        : html`<details>
            <summary>Where the commands come from</summary>
            ${install}
          </details>`
    }
    ${
      isOne
        ? ''
        : html`<p class="soft">
            Such lines send what has changed, and no complete list of your site, which would have to name the
            pages of all hosts. Where the cache wants one, register each host as a provider of its own.
          </p>`
    }`;
}

/** The last sets of a provider, a row each. @param zone of the times; undefined: that of the cache */
export function setsTable(title: string, sets: readonly TakenSet[], nowMs: number, zone?: string): Markup {
  const columns: Column<TakenSet>[] = [
    { head: 'When', cell: ({ at }) => agoOf(at * 1000, nowMs, zone) },
    {
      head: 'List',
      cell: ({ isfull, complete, held }) =>
        `${isfull === 1 ? 'all of the site' : 'changes'}${complete === 1 ? '' : ', being taken'}${held === 1 ? ', its removals held back' : ''}`,
    },
    { head: 'New or changed', kind: 'number', cell: ({ queued }) => countText(queued) },
    {
      head: 'Unchanged',
      kind: 'number',
      cell: ({ unchanged, duplicate }) => countText(unchanged + duplicate),
    },
    { head: 'Removed', kind: 'number', cell: ({ deleted }) => countText(deleted) },
  ];
  return html`<h2>${title}</h2>
    ${tableOf(title, columns, sets, { isHeadless: true })}
    <p class="soft">${amount(sets.length, 'list')}, the newest first.</p>`;
}
