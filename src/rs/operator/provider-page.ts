/** One provider, as operators see it: how it stands, its sets and errors, and what may be done to it. */
import { html } from 'hono/html';
import { formatHours } from '../../config/hours.js';
import { amount, formatDuration } from '../../config/words.js';
import type { ShownProvider } from '../../db/providers/registered.js';
import { codeText } from '../../wire/codes.js';
import { RS_CONTROLS, type KeptError, type RsControl } from '../../wire/qm-rs.js';
import { wrongIn } from '../pages/fields.js';
import { fieldOf, formTokenField, tileOf, type Markup } from '../pages/layout.js';
import { ERRORS_PAGE, errorsQuery, errorTable, type ErrorFilter } from '../pages/me-errors.js';
import { feedTable } from '../pages/me-feeds.js';
import { setsTable } from '../pages/me-overview.js';
import { pushSection } from '../pages/me-push.js';
import { bytesText, countText, rateText } from '../pages/numbers.js';
import { factsOf, tableOf } from '../pages/table.js';
import { agoOf } from '../pages/times.js';
import { higherTerms, TERMS } from '../terms.js';
import type { TermNumbers } from '../../wire/terms.js';
import type { DecisionView } from './application-pages.js';
import { auditTable, stateBadge, timeCell } from './markup.js';
import { refusalSummary, termFields, type Refused } from './term-fields.js';
import type { Application, OperatorViews } from './views.js';

type Seen = Awaited<ReturnType<OperatorViews['provider']>>;

const CONTROL_WORDS: Record<RsControl, { label: string; says: string }> = {
  pause: { label: 'Pause', says: 'fetch nothing from it' },
  resume: { label: 'Resume', says: 'fetch from it again' },
  flush: { label: 'Flush', says: 'forget back-off and delays, and try at once' },
  'want-full': { label: 'Want a full set', says: 'ask it to name all that it has' },
  disable: {
    label: 'Disable',
    says: 'let it deliver nothing, and fetch nothing from it; what is held of it stays',
  },
  enable: { label: 'Enable', says: 'let it deliver again; one that is leaving stays' },
};

/** Name of the reason for other terms: there are two on the page. */
const TERMS_REASON = 'terms-reason';

/** The first of its directories; of one that is none yet its number. */
export function titleOfProvider(pid: number, { provider }: Pick<Seen, 'provider'>): string {
  return provider?.roots[0] ?? `Provider ${pid}`;
}

/** @param isTerms the form that was refused is the one of the terms */
export function providerPage(
  pid: number,
  seen: Seen,
  view: DecisionView,
  refused?: Refused,
  isTerms = false,
): Markup {
  const { applications, feeds, audit } = seen;
  const known = seen.provider ?? undefined;
  const { base, nowMs } = view;
  return html`<h1 class="address">${titleOfProvider(pid, seen)}</h1>
    ${standing(pid, known, nowMs)} ${refusalSummary(refused?.error, isTerms ? TERMS_REASON : 'reason')}
    ${known === undefined ? '' : shown(pid, known, view, refused, isTerms)}
    ${
      applications.length === 0
        ? ''
        : html`<h2>Registrations</h2>
            ${tableOf<Application>(
              'Registrations',
              [
                {
                  head: 'No.',
                  kind: 'number',
                  cell: ({ id }) => html`<a href="${base}/applications/${String(id)}">${String(id)}</a>`,
                },
                { head: 'Site', kind: 'wide', cell: ({ url }) => url },
                { head: 'State', cell: ({ state }) => stateBadge(state) },
                { head: 'Begun', kind: 'time', cell: ({ begun }) => timeCell(begun) },
              ],
              applications,
            )}`
    }
    <h2>Pushes</h2>
    ${pushSection(seen.pushes, nowMs)}
    ${
      feeds.length === 0
        ? ''
        : html`<h2>Feeds</h2>
            ${feedTable(feeds, nowMs, undefined)}`
    }
    <h2>Decisions and changes</h2>
    ${auditTable({ rows: audit, next: null }, base, '', 'Nobody has decided or changed anything here.')}`;
}

function standing(pid: number, known: Partial<ShownProvider> | undefined, nowMs: number): Markup {
  const { enabled, paused = 0, backoffuntil = 0, leaveat, origin, spider, lastconntime = 0 } = known ?? {};
  const leavesMs = (leaveat ?? 0) * 1000;
  const hasLeft = leavesMs > 0 && leavesMs <= nowMs;
  const [tone, words] =
    known === undefined
      ? ['wait', 'not a provider yet']
      : enabled === false
        ? ['bad', hasLeft ? 'has left' : leavesMs > 0 ? 'leaving' : 'disabled']
        : paused > 0
          ? ['wait', 'paused']
          : backoffuntil * 1000 > nowMs
            ? ['bad', 'its site does not answer']
            : ['good', 'enabled'];
  const heard =
    lastconntime === 0 ? 'it has never connected' : html`it connected ${agoOf(lastconntime * 1000, nowMs)}`;
  return html`<p class="standing">
    <span class="state ${tone}">${words}</span>
    <span class="soft"
      >Provider ${String(pid)}, ${origin === 'rs' ? 'registered by itself' : 'added by an operator'};
      ${spider === true ? 'it is crawled' : heard}</span
    >
  </p>`;
}

function shown(
  pid: number,
  known: Partial<ShownProvider>,
  view: DecisionView,
  refused: Refused | undefined,
  isTerms: boolean,
): Markup {
  const { base, nowMs } = view;
  const { filesused = 0, filesmax = 0, spaceused = 0, spacemax = 0, nurlproc = 0, nurlerrs = 0 } = known;
  const { sets = [], errors = [] } = known;
  const errorsAt = `${base}/providers/${pid}/errors`;
  return html`<div class="tiles">
      ${tileOf('Pages and files', countText(filesused), `of ${countText(filesmax)}`)}
      ${tileOf('Space', bytesText(spaceused), `of ${bytesText(spacemax)}`)}
      ${tileOf('Waiting', countText(nurlproc), 'urls')}
      ${tileOf('Errors', countText(nurlerrs), nurlerrs === 0 ? 'none' : html`<a href="${errorsAt}">Which ones</a>`)}
    </div>
    ${
      errors.length === 0
        ? ''
        : html`<h2>Errors that it has not received</h2>
            ${tableOf(
              'Errors by code',
              [
                {
                  head: 'Errors',
                  kind: 'number',
                  cell: ({ code, errors: count }) =>
                    html`<a href="${errorsAt}${errorsQuery({ code })}">${countText(count)}</a>`,
                },
                { head: 'Code', kind: 'number', cell: ({ code }) => String(code) },
                { head: 'What happened', kind: 'wide', cell: ({ code }) => codeText(code) },
              ],
              errors,
            )}`
    }
    ${
      sets.length === 0
        ? html`<h2>Its last sets</h2>
            <div class="empty"><p>No set of it was taken yet.</p></div>`
        : setsTable('Its last sets', sets, nowMs)
    }
    <div class="two">
      ${termsCard(pid, known, view, isTerms ? refused : undefined)}
      ${controlsCard(pid, known, view, isTerms ? undefined : refused)}
    </div>`;
}

function termsCard(
  pid: number,
  known: Partial<ShownProvider>,
  { base, formToken, most, nowMs }: DecisionView,
  refused: Refused | undefined,
): Markup {
  const {
    roots = [],
    givenroots = [],
    timeofday = '',
    fullsetwanted,
    leaveat,
    backoffuntil = 0,
    left,
  } = known;
  const leavesMs = (leaveat ?? 0) * 1000;
  const restS = Math.ceil((backoffuntil * 1000 - nowMs) / 1000);
  const has = termsOf(known);
  return html`<section class="card" aria-labelledby="terms">
    <h2 id="terms">Terms</h2>
    ${factsOf([
      ['Directories', html`${roots.map(root => html`<div class="mono">${root}</div>`)}`],
      ['Given up, kept until', givenroots.length === 0 ? undefined : html`${givenroots.map(givenRow)}`],
      ['Bandwidth', rateText(has.bandwidth)],
      ['Hours', timeofday === '' ? 'always' : formatHours(timeofday)],
      ['Priority', String(has.priority)],
      ['Full sets unasked', countText(has.fullsetsallowed)],
      ['Full set wanted', fullsetwanted ?? undefined],
      [leavesMs <= nowMs ? 'Left' : 'Leaves', leavesMs > 0 ? timeCell(isoOf(leavesMs)) : undefined],
      ['Left alone for', restS > 0 ? formatDuration(restS) : undefined],
    ])}
    ${
      left === 1
        ? ''
        : html`<details${refused === undefined ? '' : html` open`}>
            <summary>Change them</summary>
            <form class="decide" method="post" action="${base}/providers/${String(pid)}/limits" novalidate>
              ${formTokenField(formToken)}
              <p class="soft">What is left empty stays. All else is changed by <code>lccpidb set --pid=${String(pid)}</code>.</p>
              <div class="terms">${termFields(has, higherTerms(most, has), refused)}</div>
              ${fieldOf({ name: 'reason', id: TERMS_REASON, label: 'Reason', hint: 'For the audit', value: refused?.typed['reason'] ?? '', isRequired: true, ...wrongIn(refused?.error, ['reason']) })}
              <button>Change</button>
            </form>
          </details>`
    }
  </section>`;
}

function givenRow({ root, at }: ShownProvider['givenroots'][number]): Markup {
  return html`<div><span class="mono">${root}</span> ${timeCell(isoOf(at * 1000))}</div>`;
}

function isoOf(atMs: number): string {
  return new Date(atMs).toISOString();
}

function termsOf(known: Partial<ShownProvider>): TermNumbers {
  const terms = TERMS.map(({ name }) => [name, known[name] ?? 0] as const);
  return Object.fromEntries(terms) as unknown as TermNumbers;
}

function controlsCard(
  pid: number,
  { paused = 0, enabled, leaveat }: Partial<ShownProvider>,
  { base, formToken, nowMs }: DecisionView,
  refused: Refused | undefined,
): Markup {
  const hasLeft = typeof leaveat === 'number' && leaveat > 0 && leaveat * 1000 <= nowMs;
  const isOffered: Partial<Record<RsControl, boolean>> = {
    pause: paused === 0,
    resume: paused > 0,
    disable: enabled === true,
    enable: enabled === false && !hasLeft,
  };
  const controls = RS_CONTROLS.filter(op => isOffered[op] ?? true);
  return html`<form
    class="card decide"
    method="post"
    action="${base}/providers/${String(pid)}/control"
    novalidate
  >
    <h2>Do something</h2>
    ${formTokenField(formToken)}
    ${fieldOf({ name: 'reason', label: 'Reason', hint: 'For the audit', value: refused?.typed['reason'] ?? '', isRequired: true, ...wrongIn(refused?.error, ['reason']) })}
    <ul class="soft">
      ${controls.map(op => html`<li><b>${CONTROL_WORDS[op].label}</b>: ${CONTROL_WORDS[op].says}</li>`)}
    </ul>
    <p class="actions">
      ${controls.map(op => html`<button class="plain" formaction="${base}/providers/${String(pid)}/${op}">${CONTROL_WORDS[op].label}</button>`)}
    </p>
  </form>`;
}

/** Errors of a provider, of one code or of all, a page at a time. @param errors of this page, and one more
 * where there is a next one */
export function providerErrorsPage(
  pid: number,
  seen: Seen,
  errors: readonly KeptError[],
  filter: ErrorFilter,
  base: string,
): Markup {
  const at = `${base}/providers/${pid}`;
  const rows = errors.slice(0, ERRORS_PAGE);
  const next = errors.length > ERRORS_PAGE ? rows.at(-1)?.errseq : undefined;
  const { nurlerrs = 0 } = seen.provider ?? {};
  return html`<h1 class="address">Errors of ${titleOfProvider(pid, seen)}</h1>
    <p class="lead">
      ${amount(nurlerrs, 'error')} that <a href="${at}">provider ${String(pid)}</a> has not received yet: its
      lcccp prints them when it runs next.
    </p>
    ${
      filter.code === undefined
        ? ''
        : html`<p>
            Code ${String(filter.code)}: ${codeText(filter.code)}. <a href="${at}/errors">All codes</a>
          </p>`
    }
    ${rows.length === 0 ? html`<div class="empty"><p>There are none${filter.after === 0 ? '' : ' further'}.</p></div>` : errorTable(rows)}
    ${next === undefined ? '' : html`<p class="pages"><a href="${at}/errors${errorsQuery({ ...filter, after: next })}">Further ones</a></p>`}`;
}
