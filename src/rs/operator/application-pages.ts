/** Sites that want to join, with what an operator decides. */
import { html } from 'hono/html';
import { formatAmount } from '../../config/amounts.js';
import { formatHours } from '../../config/hours.js';
import type { PairKind } from '../../db/rs/registrations.js';
import { wrongIn } from '../pages/fields.js';
import { capital, fieldOf, formTokenField, type Markup } from '../pages/layout.js';
import { factsOf, tableOf, type Column } from '../pages/table.js';
import type { TermNumbers } from '../../wire/terms.js';
import { providerLink } from './list-pages.js';
import { sinceText, stateBadge, timeCell } from './markup.js';
import { refusalSummary, termFields, type Refused } from './term-fields.js';
import type { Application, DecidedApplication, OperatorViews } from './views.js';

export interface DecisionView {
  base: string;
  formToken: string;
  most: TermNumbers;
  first: TermNumbers;
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
    ${tableOf('Under way', columns('In this state'), underWay, { empty: 'No site is being registered.' })}
    <h2>Decided, and over</h2>
    ${tableOf('Over', columns('Since'), over, { empty: 'None yet.' })}`;
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
  const rate =
    bandwidth === undefined ? 'any bandwidth' : `${formatAmount(bandwidth, 'bytes_per_s')} at most`;
  const when = hours === undefined ? 'at all hours' : `${formatHours(hours)} in the time of ${zone}`;
  return factsOf([
    ['What', KIND_WORDS[kind]],
    ['Provider', String(pid)],
    ['Proven', proven.length === 0 ? 'not yet' : proven.join(' '), 'mono'],
    ['Wishes', kind === 'new' ? `${rate}, ${when}` : undefined],
    ['From the network', network],
    ['Checks of the site', String(checks)],
    ['Good until', ends === null ? undefined : timeCell(ends)],
  ]);
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
    ${refusalSummary(refused?.error)}
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

function crawled(
  { crawled_by: pids, had_by: owners, state }: DecidedApplication,
  base: string,
): Markup | string {
  if (pids === null)
    return state === 'waiting'
      ? html`<p class="soft">
          Whether another provider crawls this site is not known: lccd-qm does not answer.
        </p>`
      : '';
  return html`${(state === 'active' ? [] : (owners ?? [])).map(
    pid =>
      html`<div class="note wait">
        <h2>Provider ${providerLink(base, pid)} announces pages of this site</h2>
        <p>
          What both announce is fetched and kept twice. Approve it only where that is meant, or ask who of
          them is to have it.
        </p>
      </div>`,
  )}
  ${pids.map(
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

function decide(
  { id, kind, pid }: Application,
  { base, formToken, most, first }: DecisionView,
  refused: Refused | undefined,
): Markup {
  return html`<div class="two">
    <form class="card decide" method="post" action="${base}/applications/${String(id)}/approve" novalidate>
      <h2>Approve it</h2>
      ${formTokenField(formToken)}
      ${
        kind === 'new'
          ? html`<p class="soft">What is left empty is as for every new provider.</p>
              <div class="terms">${termFields(first, most, refused)}</div>`
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
      ${fieldOf({ name: 'reason', label: 'Reason', hint: 'The applicant is told', value: refused?.typed['reason'] ?? '', isRequired: true, ...wrongIn(refused?.error, ['reason']) })}
      <button class="danger">Refuse</button>
    </form>
  </div>`;
}
