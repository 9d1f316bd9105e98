/** The first page of operators: what waits for them, why nothing moves, and the sites. */
import { html } from 'hono/html';
import { amount } from '../../config/words.js';
import { capital, tileOf, type Markup } from '../pages/layout.js';
import { valueText, type GraphView } from './graph.js';
import { freshness, sinceText } from './markup.js';
import { addSite, barsLegend, siteTable } from './site-table.js';
import type { OperatorViews, Overview } from './views.js';

/** @param register where sites register; '' where they cannot */
export function overviewPage(views: OperatorViews, base: string, register: string, nowMs: number): Markup {
  const overview = views.overview();
  const waiting = waits(overview, base, nowMs);
  return html`<h1>Overview</h1>
    <p class="lead">${capital(overview.summary)}.</p>
    ${freshness(overview, nowMs)}
    <div class="two">${waiting} ${toKnow(overview, waiting === '')}</div>
    ${tiles(overview)} ${sites(overview, base, register, nowMs)}`;
}

function sites(
  { at, sites: shown, providers }: Overview,
  base: string,
  register: string,
  nowMs: number,
): Markup | string {
  if (shown.length === 0) return at === null ? '' : addSite(register);
  return html`<h2>Sites</h2>
    ${siteTable('Sites', shown, base, nowMs)} ${barsLegend()}
    <p class="pages">
      <a href="${base}/providers"
        >${providers > shown.length ? `All ${String(providers)} providers, with what they hold` : 'What they hold, and how to add one'}</a
      >
    </p>`;
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
  const waiting = [
    sites > 0 &&
      html`<a href="${base}/applications">${amount(sites, 'site waits', 'sites wait')} for approval</a>`,
    operations > 0 &&
      `${amount(operations, 'change of a provider waits', 'changes of providers wait')} for the Queue Manager`,
    mailSince !== null &&
      `${amount(mails, 'mail waits', 'mails wait')} for the mail server, the oldest ${sinceText(mailSince, nowMs)}${trouble === null ? '' : `: ${trouble}`}`,
  ].filter(each => each !== false);
  if (waiting.length === 0) return '';
  return html`<div class="note wait">
    <h2>${sites > 0 ? 'Waits for you' : 'Waits'}</h2>
    <ul>
      ${waiting.map(each => html`<li>${each}</li>`)}
    </ul>
  </div>`;
}

/** @param isAll nothing else is said */
function toKnow({ at, problem, reasons }: Overview, isAll: boolean): Markup | string {
  // Reasons about approvals and the mail server stand above.
  const others = reasons.filter(
    reason => !/; lccrs list$|^\d+ mails? waits? for the server of rs\.smtp: /.test(reason),
  );
  // Nothing is known of a part that is not seen.
  if (others.length === 0 && (at === null || problem !== null)) return '';
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
