/** A provider leaves, and stays after all: `/me/leave`. */
import { html } from 'hono/html';
import { clientOf } from '../api-parts.js';
import { formatDuration } from '../../config/words.js';
import type { RsRequestRefused } from '../refusal.js';
import { fieldOf, formTokenField, type Markup } from './layout.js';
import { summaryOf, wrongIn } from './fields.js';
import {
  accountField,
  formPage,
  outcomeNote,
  stateOf,
  zoneOf,
  type MeApp,
  type MeContext,
  type MeParts,
} from './me-parts.js';
import { CONFIRMATION, confirmationFields, countIn } from './me-roots.js';
import { countText } from './numbers.js';
import { untilOf } from './times.js';

const PATH = '/me/leave';

export function leavePage(app: MeApp, parts: MeParts): void {
  const { account, base, options } = parts;
  formPage(app, parts, {
    path: PATH,
    title: 'Leave',
    fields: ['password', 'urls', 'action'],
    body: (c, { urls }, refused) => body(c, urls, refused),
    async act(c, { password, urls, action }) {
      const { address } = clientOf(c, parts.options);
      const { pid } = c.var.provider;
      const given = password.trim();
      if (action === 'stay') return `/me?is=${stateOf(await account.stay(String(pid), given, address))}`;
      const consent = { password: given, urls: countIn(urls), address };
      return `${PATH}?is=${stateOf(await account.leave(pid, consent))}`;
    },
  });

  function body(c: MeContext, urls: string, refused: RsRequestRefused | undefined): Markup {
    const { leaveat, origin, filesused, pid } = c.var.provider;
    const token = html`${formTokenField(c.var.session.formToken)} ${accountField(pid)}`;
    const summary = summaryOf(refused, CONFIRMATION);
    if (leaveat !== null)
      return html`<h1>You are leaving</h1>
        ${summary}
        <div class="note wait">
          <h2>What is kept of your site is removed ${untilOf(leaveat * 1000, zoneOf(parts, pid))}</h2>
          <p>Until then nothing is fetched, nothing is lost, and you can stay after all.</p>
        </div>
        <form class="card narrow" method="post" action="${base}${PATH}" novalidate>
          ${token} <input type="hidden" name="action" value="stay" />
          ${fieldOf({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', isRequired: true, ...wrongIn(refused, ['login']) })}
          <button>Stay after all</button>
        </form>`;
    if (origin !== 'rs')
      return html`<h1>Leave</h1>
        <p>The operator has added your site. Ask there to have it removed.</p>`;
    return html`<h1>Leave</h1>
      ${summary} ${outcomeNote(c, 'You are leaving.')}
      <p class="lead narrow">
        Your site is not fetched from any more, at once. After ${formatDuration(options.leaveMs / 1000)} the
        ${countText(filesused)} pages and files that are kept of it are removed. Until then you can come back.
      </p>
      <ul class="narrow">
        <li>Take the line out of your crontab: it would be refused (code 105).</li>
        <li>The provider number stays yours for good; nobody else gets it.</li>
        <li>What others have taken from this cache stays with them.</li>
      </ul>
      <form class="card narrow" method="post" action="${base}${PATH}" novalidate>
        ${token} ${confirmationFields(filesused, urls, refused)}
        <p class="actions"><button class="danger">Leave this cache</button> <a href="${base}/me">Stay</a></p>
      </form>`;
  }
}
