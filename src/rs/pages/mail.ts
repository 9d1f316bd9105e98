/** Where links of mails lead, and where another password is asked for. A link shows a button: whatever follows links changes nothing. */
import { randomBytes } from 'node:crypto';
import { Hono, type Context } from 'hono';
import { html } from 'hono/html';
import { clientAddress } from '../../web/client.js';
import type { Clock } from '../../lib/clock.js';
import { networkOf, type NodeBindings } from '../api.js';
import type { ForgottenPasswords, NewPassword } from '../mail/forgotten.js';
import type { Mailing } from '../mail/mailing.js';
import type { RsOptions } from '../options.js';
import { RsRequestRefused } from '../refusal.js';
import { fieldsOf } from './fields.js';
import { codeBlock, errorSummary, fieldOf, type Markup, type PageMaker } from './layout.js';
import { ShownOnce } from './shown-once.js';

const KEY_BYTES = 16;

export interface MailPagesOptions {
  mailing: Pick<Mailing, 'email' | 'confirm'>;
  forgotten: Pick<ForgottenPasswords, 'ask' | 'exchange'>;
  options: Pick<RsOptions, 'proxies'>;
  clock: Clock;
  base: string;
  page: PageMaker;
}

/** `/confirm/T`, `/forgot`, `/reset/T`. */
export function mailPages({ mailing, forgotten, options, clock, base, page }: MailPagesOptions) {
  const pages = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  const shownOnce = new ShownOnce<NewPassword>(clock);

  pages.get('/confirm/:token', c =>
    c.html(
      button('Confirm your address', 'The address that this link was sent to is yours.', 'It is mine', c),
    ),
  );
  pages.post('/confirm/:token', c => {
    mailing.confirm(c.req.param('token'));
    return c.redirect(`${base}/confirmed`, 303);
  });
  pages.get('/confirmed', c =>
    c.html(
      page({
        title: 'Confirmed',
        body: html`<h1>The address is confirmed</h1>
          <p>
            What changes about your site is sent there, and a link to another password if you ask for one. You
            may close this page.
          </p>`,
      }),
    ),
  );

  pages.get('/forgot', c => c.html(page({ title: 'Forgotten password', body: form('', []) })));
  pages.post('/forgot', async c => {
    let fields = { who: '' };
    try {
      fields = await fieldsOf(c, ['who']);
      forgotten.ask(fields.who, networkOf(clientAddress(c.env.incoming, options.proxies)));
      return c.redirect(`${base}/forgot/asked`, 303);
    } catch (error) {
      if (!(error instanceof RsRequestRefused)) throw error;
      if (error.retryAfterS !== undefined) c.header('retry-after', String(error.retryAfterS));
      const body = form(fields.who, [error]);
      return c.html(page({ title: 'Forgotten password', body }), error.status);
    }
  });
  pages.get('/forgot/asked', c =>
    c.html(
      page({
        title: 'Asked',
        body: html`<h1>Look into your mail</h1>
          <p>
            If that is a provider with a confirmed address, or such an address, a link to another password is
            on its way there. It is good for a short time, once.
          </p>
          <p>Nothing comes? Mail may be slow; more than a few links a day are not sent.</p>`,
      }),
    ),
  );

  pages.get('/reset/:token', c =>
    c.html(
      button(
        'Another password',
        'The password that your site has now is void as soon as the other one is shown: put that into the file of the password at once.',
        'Show another password',
        c,
      ),
    ),
  );
  pages.post('/reset/:token', async c => {
    const made = await forgotten.exchange(c.req.param('token'));
    const key = randomBytes(KEY_BYTES).toString('hex');
    shownOnce.keep(key, made);
    return c.redirect(`${base}/password/${key}`, 303);
  });
  pages.get('/password/:key', c => {
    const found = shownOnce.take(c.req.param('key'));
    if (found === undefined)
      throw new RsRequestRefused(
        410,
        'shown',
        'the password was shown already',
        'ask for another one if it is lost',
      );
    return c.html(page({ title: 'Another password', body: newPassword(found) }));
  });
  return pages;

  function button(title: string, text: string, label: string, c: Context): Markup {
    return page({
      title,
      body: html`<h1>${title}</h1>
        <p>${text}</p>
        <form method="post" action="${c.req.path}"><button>${label}</button></form>`,
    });
  }

  function form(who: string, errors: readonly RsRequestRefused[]): Markup {
    const summary = errors.map(({ what, advice, code }) => ({
      what,
      advice,
      ...(code === 'who' && { field: 'who' }),
    }));
    if (mailing.email === 'off')
      return html`<h1>Forgotten password</h1>
        <p>This cache sends no mail. Ask its operator for another password.</p>`;
    return html`<h1>Forgotten password</h1>
      ${errorSummary(summary)}
      <p>
        A password cannot be found again, only replaced: a link to another one goes to your confirmed address.
      </p>
      <form method="post" action="${base}/forgot" novalidate>
        ${fieldOf({ name: 'who', label: 'Provider number, or e-mail address', value: who, autocomplete: 'username', isRequired: true, wrong: errors[0]?.what })}
        <button>Send a link</button>
      </form>`;
  }
}

function newPassword({ pid, password }: NewPassword): Markup {
  return html`<h1>Your new password</h1>
    <div class="note wait">
      <h2>Keep this now: it is shown only once</h2>
      <dl class="facts">
        <dt>Provider number</dt>
        <dd class="mono">${String(pid)}</dd>
        <dt>Password</dt>
        <dd class="mono">${password}</dd>
      </dl>
      <p>Put it into the file that your crontab line names after <code>--pwdfile</code>:</p>
      ${codeBlock(`(umask 077; echo '${password}' > ~/.lcc-password)`, 'Keep the password')}
    </div>
    <p>The old one is void now. All logins are over: log in again with the new one.</p>`;
}
