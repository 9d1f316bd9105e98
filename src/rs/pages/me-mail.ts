/** Where a provider is written to: `/me/mail`. */
import { html } from 'hono/html';
import { clientOf } from '../api-parts.js';
import type { RsRequestRefused } from '../refusal.js';
import { fieldOf, formTokenField, type Markup } from './layout.js';
import { summaryOf, wrongIn } from './fields.js';
import { formPage, outcomeNote, type MeApp, type MeContext, type MeParts } from './me-parts.js';
import { factsOf } from './table.js';

const PATH = '/me/mail';

export function mailPage(app: MeApp, parts: MeParts): void {
  const { mailing, base } = parts;
  formPage(app, parts, {
    path: PATH,
    title: 'E-mail',
    fields: ['email', 'action'],
    body: (c, { email }, refused) => body(c, email, refused),
    act(c, { email, action }) {
      const { pid } = c.var.provider;
      if (action === 'remove') mailing.remove(pid);
      else mailing.change(pid, email, clientOf(c, parts.options).network);
      return `${PATH}?is=done`;
    },
  });

  function body(c: MeContext, typed: string, refused: RsRequestRefused | undefined): Markup {
    const standing = mailing.standing(c.var.provider.pid);
    if (mailing.email === 'off' || standing === undefined)
      return html`<h1>E-mail</h1>
        <div class="empty">
          <h2>No mail is sent</h2>
          <p>
            ${mailing.email === 'off' ? 'This cache sends none. What it has to say stands on these pages.' : 'You did not register here: the operator has your address.'}
          </p>
        </div>`;
    const { confirmed, pending } = standing;
    const token = formTokenField(c.var.session.formToken);
    return html`<h1>E-mail</h1>
      ${summaryOf(refused, { email: 'email' })} ${outcomeNote(c, 'Done.')}
      <p class="lead narrow">
        You hear when something about your site changes, and once a day when a complete list is wanted or more
        than every tenth page fails. A forgotten password is replaced by mail, too.
      </p>
      ${factsOf(
        [
          ['Mail goes to', confirmed ?? 'nobody'],
          ['Waits for its link', pending],
        ],
        ' card narrow',
      )}
      ${
        pending === undefined
          ? ''
          : html`<div class="note wait">
              <h2>Look into your mail</h2>
              <p>
                A mail with a link has gone to ${pending}. The address is used when you have followed the
                link.
              </p>
            </div>`
      }
      <form class="card narrow" method="post" action="${base}${PATH}" novalidate>
        ${token}
        ${fieldOf({ name: 'email', label: confirmed === undefined ? 'Your address' : 'Another address', hint: 'A mail with a link goes there first', type: 'email', autocomplete: 'email', value: typed, isRequired: true, ...wrongIn(refused, ['email']) })}
        <button>Send the link</button>
      </form>
      ${
        confirmed === undefined || mailing.email === 'required'
          ? ''
          : html`<form method="post" action="${base}${PATH}">
              ${token} <input type="hidden" name="action" value="remove" />
              <button class="danger">Send me no mail</button>
            </form>`
      }`;
  }
}
