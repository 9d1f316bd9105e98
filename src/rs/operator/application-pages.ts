/** Sites that want to join, with what an operator decides; and one provider, with what may be done to it. */
import { html } from 'hono/html';
import { formatAmount } from '../../config/amounts.js';
import { formatHours } from '../../config/hours.js';
import { formatDuration } from '../../config/words.js';
import type { PairKind } from '../../db/rs/registrations.js';
import { RS_CONTROLS, type RsControl } from '../../wire/qm-rs.js';
import { capital, errorSummary, fieldOf, formTokenField, type Markup } from '../pages/layout.js';
import { bytesText, countText, rateText } from '../pages/numbers.js';
import type { RsRequestRefused } from '../refusal.js';
import { TERMS, type GivenTerms, type MostTerms } from '../terms.js';
import { auditTable, sinceText, stateBadge, tableOf, tileOf, timeCell, type Column } from './markup.js';
import { providerLink } from './list-pages.js';
import type { Application, DecidedApplication, OperatorViews } from './views.js';

/** A form that was refused, as it was typed. */
export interface Refused {
  error: RsRequestRefused;
  typed: Readonly<Record<string, string>>;
}

export interface DecisionView {
  base: string;
  formToken: string;
  most: MostTerms;
  first: Required<GivenTerms>;
  nowMs: number;
}

export function applicationsPage(views: OperatorViews, { base, nowMs }: DecisionView): Markup {
  const { waiting, under_way: underWay, over } = views.applications();
  const columns = (time: string): Column<Application>[] => [
    {
      head: 'No.',
      kind: 'number',
      cell: ({ id }) => html`<a href="${base}/applications/${String(id)}">${String(id)}</a>`,
    },
    { head: 'Site', kind: 'wide', cell: ({ url }) => url },
    { head: 'What', cell: ({ kind }) => KIND_WORDS[kind] },
    { head: 'State', cell: ({ state }) => stateBadge(state) },
    { head: 'Provider', kind: 'number', cell: ({ pid }) => String(pid) },
    { head: 'From', cell: ({ network }) => network },
    { head: time, kind: 'time', cell: ({ since }) => sinceText(since, nowMs) },
  ];
  return html`<h1>Applications</h1>
    ${
      waiting.length === 0
        ? html`<div class="empty">
            <h2>Nobody waits</h2>
            <p>Sites that have proven they are theirs, and wait for approval, are shown here.</p>
          </div>`
        : waiting.map(application => applicationCard(application, base, nowMs))
    }
    <h2>Under way</h2>
    ${tableOf('Under way', columns('In this state'), underWay, 'No site is being registered.')}
    <h2>Decided, and over</h2>
    ${tableOf('Over', columns('Since'), over, 'None yet.')}`;
}

function applicationCard(application: Application, base: string, nowMs: number): Markup {
  const { id, url, since } = application;
  return html`<article class="card application">
    <h2><a href="${base}/applications/${String(id)}">${url}</a></h2>
    <p class="standing">${stateBadge('waiting')} <span class="soft">${sinceText(since, nowMs)}</span></p>
    ${facts(application)}
    <p><a class="button" href="${base}/applications/${String(id)}">Look, and decide</a></p>
  </article>`;
}

const KIND_WORDS: Record<PairKind, string> = {
  new: 'new site',
  root: 'another directory',
  reset: 'lost password',
  rotation: 'new password',
};

function facts({ kind, pid, proven, network, wishes, checks, ends }: Application): Markup {
  const { bandwidth, hours, zone = 'the cache' } = wishes;
  return html`<dl class="facts">
    <dt>What</dt>
    <dd>${KIND_WORDS[kind]}</dd>
    <dt>Provider</dt>
    <dd>${String(pid)}</dd>
    <dt>Proven</dt>
    <dd class="mono">${proven.length === 0 ? 'not yet' : proven.join(' ')}</dd>
    ${
      kind === 'new'
        ? html`<dt>Wishes</dt>
            <dd>
              ${bandwidth === undefined ? 'any bandwidth' : `${formatAmount(bandwidth, 'bytes_per_s')} at most`},
              ${hours === undefined ? 'at all hours' : `${formatHours(hours)} in the time of ${zone}`}
            </dd>`
        : ''
    }
    <dt>From the network</dt>
    <dd>${network}</dd>
    <dt>Checks of the site</dt>
    <dd>${String(checks)}</dd>
    ${
      ends === null
        ? ''
        : html`<dt>Good until</dt>
            <dd>${timeCell(ends)}</dd>`
    }
  </dl>`;
}

export function applicationPage(
  application: DecidedApplication,
  view: DecisionView,
  refused?: Refused,
): Markup {
  const { url, state, since, reason, pid } = application;
  const { base, nowMs } = view;
  return html`<h1 class="address">${url}</h1>
    <p class="standing">${stateBadge(state)} <span class="soft">${sinceText(since, nowMs)}</span></p>
    ${refused === undefined ? '' : errorSummary([{ ...summaryOf(refused.error) }])}
    ${
      reason === null
        ? ''
        : html`<div class="note bad">
            <h2>${capital(reason.what)}</h2>
            <p>${capital(reason.do)}.</p>
          </div>`
    }
    <div class="card application">${facts(application)}</div>
    ${crawled(application, base)}
    ${
      state === 'active'
        ? html`<p>It is provider ${providerLink(base, pid)}.</p>`
        : state === 'waiting'
          ? decide(application, view, refused)
          : ''
    }`;
}

function crawled({ crawled_by: pids, state }: DecidedApplication, base: string): Markup | string {
  if (pids === null)
    return state === 'waiting'
      ? html`<p class="soft">
          Whether another provider crawls this site is not known: lccd-qm does not answer.
        </p>`
      : '';
  return html`${pids.map(
    pid =>
      html`<div class="note wait">
        <h2>Provider ${providerLink(base, pid)} crawls this site</h2>
        <p>
          What both have is fetched and kept twice. To end the crawl:
          <code>lccpidb set --pid=${String(pid)} --spider=no</code>. Or let the site take over that provider,
          with all that it holds, and refuse this: <code>lccpidb passwd --pid=${String(pid)}</code> prints a
          password for it.
        </p>
      </div>`,
  )}`;
}

function summaryOf({ what, advice, code }: RsRequestRefused) {
  const isField = code === 'reason' || TERMS.some(({ name }) => name === code);
  return { what, advice, ...(isField && { field: code }) };
}

function decide(
  { id, kind, pid }: Application,
  { base, formToken, most, first }: DecisionView,
  refused: Refused | undefined,
): Markup {
  const wrongOf = (name: string) => (refused?.error.code === name ? refused.error.what : undefined);
  const shownTerm = (name: keyof GivenTerms, value: number) =>
    name === 'spacemax' ? bytesText(value) : name === 'bandwidth' ? rateText(value) : countText(value);
  const termFields = () =>
    TERMS.map(({ name, label }) =>
      fieldOf({
        name,
        label,
        hint: `${shownTerm(name, first[name])}; ${shownTerm(name, most[name])} at most`,
        value: refused?.typed[name] ?? '',
        wrong: wrongOf(name),
      }),
    );
  return html`<div class="two">
    <form class="card decide" method="post" action="${base}/applications/${String(id)}/approve" novalidate>
      <h2>Approve it</h2>
      ${formTokenField(formToken)}
      ${
        kind === 'new'
          ? html`<p class="soft">What is left empty is as for every new provider.</p>
              <div class="terms">${termFields()}</div>`
          : html`<p class="soft">
              It becomes another directory of provider ${providerLink(base, pid)}, whose terms stay as they
              are.
            </p>`
      }
      <button>Approve</button>
    </form>
    <form class="card decide" method="post" action="${base}/applications/${String(id)}/refuse" novalidate>
      <h2>Refuse it</h2>
      ${formTokenField(formToken)}
      ${fieldOf({ name: 'reason', label: 'Reason', hint: 'The applicant is told', value: refused?.typed['reason'] ?? '', isRequired: true, wrong: wrongOf('reason') })}
      <button class="danger">Refuse</button>
    </form>
  </div>`;
}

function hoursText(mask: unknown): string {
  return typeof mask !== 'string' || mask === '' ? 'always' : formatHours(mask);
}

type Provider = Awaited<ReturnType<OperatorViews['provider']>>;

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

export function providerPage(
  pid: number,
  { provider, applications, audit }: Provider,
  { base, formToken, nowMs }: DecisionView,
  refused?: Refused,
): Markup {
  const known = provider ?? {};
  const number = (name: string) => Number(known[name] ?? 0);
  const roots = Array.isArray(known['roots']) ? (known['roots'] as string[]) : [];
  const backoffMs = number('backoffuntil') * 1000;
  const leavesMs = number('leaveat') * 1000;
  const hasLeft = leavesMs > 0 && leavesMs <= nowMs;
  const [tone, words] =
    provider === null
      ? ['wait', 'not a provider yet']
      : known['enabled'] === false
        ? ['bad', hasLeft ? 'has left' : leavesMs > 0 ? 'leaving' : 'disabled']
        : number('paused') > 0
          ? ['wait', 'paused']
          : backoffMs > nowMs
            ? ['bad', 'its site does not answer']
            : ['good', 'enabled'];
  const isOffered: Partial<Record<RsControl, boolean>> = {
    pause: number('paused') === 0,
    resume: number('paused') > 0,
    disable: known['enabled'] === true,
    enable: known['enabled'] === false && !hasLeft,
  };
  const controls = RS_CONTROLS.filter(op => isOffered[op] ?? true);
  return html`<h1>Provider ${String(pid)}</h1>
    <p class="standing">
      <span class="state ${tone}">${words}</span>
      <span class="soft">${known['origin'] === 'rs' ? 'registered by itself' : 'added by an operator'}</span>
    </p>
    ${refused === undefined ? '' : errorSummary([{ ...summaryOf(refused.error) }])}
    ${
      provider === null
        ? ''
        : html`<div class="tiles">
              ${tileOf('Pages and files', countText(number('filesused')), `of ${countText(number('filesmax'))}`)}
              ${tileOf('Space', bytesText(number('spaceused')), `of ${bytesText(number('spacemax'))}`)}
              ${tileOf('Waiting', countText(number('nurlproc')), 'urls')}
              ${tileOf('Errors', countText(number('nurlerrs')), 'not yet received')}
            </div>
            <div class="two">
              <div class="card">
                <h2>Terms</h2>
                <dl class="facts">
                  <dt>Directories</dt>
                  <dd>${roots.map(root => html`<div class="mono">${root}</div>`)}</dd>
                  <dt>Bandwidth</dt>
                  <dd>${rateText(number('bandwidth'))}</dd>
                  <dt>Hours</dt>
                  <dd>${hoursText(known['timeofday'])}</dd>
                  <dt>Priority</dt>
                  <dd>${String(number('priority'))}</dd>
                  <dt>Full sets unasked</dt>
                  <dd>${countText(number('fullsetsallowed'))}</dd>
                  ${
                    typeof known['fullsetwanted'] === 'string'
                      ? html`<dt>Full set wanted</dt>
                          <dd>${known['fullsetwanted']}</dd>`
                      : ''
                  }
                  ${
                    leavesMs > 0
                      ? html`<dt>${hasLeft ? 'Left' : 'Leaves'}</dt>
                          <dd>${timeCell(new Date(leavesMs).toISOString())}</dd>`
                      : ''
                  }
                  ${
                    backoffMs > nowMs
                      ? html`<dt>Left alone for</dt>
                          <dd>${formatDuration(Math.ceil((backoffMs - nowMs) / 1000))}</dd>`
                      : ''
                  }
                </dl>
              </div>
              <form
                class="card decide"
                method="post"
                action="${base}/providers/${String(pid)}/control"
                novalidate
              >
                <h2>Do something</h2>
                ${formTokenField(formToken)}
                ${fieldOf({ name: 'reason', label: 'Reason', hint: 'For the audit', value: refused?.typed['reason'] ?? '', isRequired: true, wrong: refused?.error.code === 'reason' ? refused.error.what : undefined })}
                <ul class="soft">
                  ${controls.map(op => html`<li><b>${CONTROL_WORDS[op].label}</b>: ${CONTROL_WORDS[op].says}</li>`)}
                </ul>
                <p class="actions">
                  ${controls.map(op => html`<button class="plain" formaction="${base}/providers/${String(pid)}/${op}">${CONTROL_WORDS[op].label}</button>`)}
                </p>
              </form>
            </div>`
    }
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
              '',
            )}`
    }
    <h2>What happened to it</h2>
    ${auditTable({ rows: audit, next: null }, base, '')}`;
}
