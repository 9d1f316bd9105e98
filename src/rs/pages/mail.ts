/** Where links of mails lead, and where another password is asked for. A link shows a button: whatever
 * follows links changes nothing. */
import { randomBytes } from 'node:crypto';
import { Hono, type Context } from 'hono';
import { html } from 'hono/html';
import { clientOf, type NodeBindings } from '../api-parts.js';
import type { NewPassword } from '../mail/forgotten.js';
import { RsRequestRefused } from '../refusal.js';
import { fieldsOf, sent, summaryOf, wrongIn } from './fields.js';
import { fieldOf, type Markup } from './layout.js';
import { keptPair, newPasswordNote } from './pair.js';
import type { PageParts } from './parts.js';
import { ShownOnce } from './shown-once.js';

const KEY_BYTES = 16;

type Ask = Context<{ Bindings: NodeBindings }>;

/** `/confirm/T`, `/forgot`, `/reset/T`. */
export function mailPages(parts: PageParts) {
  const { mail, registrar, pairSecrets, options, clock, base, page } = parts;
  const { mailing, forgotten } = mail;
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

  const EMPTY: ForgotView['typed'] = { who: '', number: '', url: '' };
  const forgot = (typed: ForgotView['typed'], refused?: RsRequestRefused) => {
    const body = forgotBody({ base, sendsMail: mailing.email !== 'off', typed, ...(refused && { refused }) });
    return page({ title: 'Forgotten password', body });
  };
  /** @param act returns where to go */
  const asked = (c: Ask, act: (typed: ForgotView['typed']) => string) => {
    let typed = EMPTY;
    return sent(
      c,
      async () => {
        typed = await fieldsOf(c, ['who', 'number', 'url']);
        return base + act(typed);
      },
      refused => c.html(forgot(typed, refused), refused.status),
    );
  };
  pages.get('/forgot', c => c.html(forgot(EMPTY)));
  pages.post('/forgot', c =>
    asked(c, ({ who }) => {
      forgotten.ask(who, clientOf(c, options).network);
      return '/forgot/asked';
    }),
  );
  pages.post('/forgot/file', c =>
    asked(c, ({ number, url }) =>
      keptPair(registrar.issueReset(numberIn(number), url.trim(), clientOf(c, options).network), pairSecrets),
    ),
  );
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
    return c.html(
      page({
        title: 'Another password',
        body: html`${newPasswordNote(found.pid, found.password)}
          <p>The old one is void now. All logins are over: log in again with the new one.</p>`,
      }),
    );
  });
  return pages;

  function button(title: string, text: string, label: string, c: Context): string {
    return page({
      title,
      body: html`<h1>${title}</h1>
        <p>${text}</p>
        <form method="post" action="${c.req.path}"><button>${label}</button></form>`,
    });
  }
}

/** @throws RsRequestRefused 400 */
function numberIn(typed: string): number {
  const number = typed.trim();
  if (/^[1-9]\d{0,14}$/.test(number)) return Number(number);
  throw new RsRequestRefused(400, 'number', 'this is no provider number', 'give a number such as 100042');
}

/** The two ways to another password for one that is lost: a mail, and a file on the site. */
interface ForgotView {
  base: string;
  /** False: there is the file only. */
  sendsMail: boolean;
  /** As they were typed. */
  typed: Readonly<Record<'who' | 'number' | 'url', string>>;
  refused?: RsRequestRefused;
}

function forgotBody(view: ForgotView): Markup {
  return html`<h1>Forgotten password</h1>
    ${summaryOf(view.refused, { who: 'who', number: 'number', address: 'url' })}
    <p class="lead narrow">
      A password cannot be found again, only
      replaced${view.sendsMail ? ', in one of two ways' : ': by a file on your site'}.
    </p>
    ${view.sendsMail ? byMail(view) : ''} ${byFile(view)}`;
}

function byMail({ base, typed, refused }: ForgotView): Markup {
  return html`<form class="card narrow" method="post" action="${base}/forgot" novalidate>
    <h2>By mail</h2>
    <p>A link to another password goes to your confirmed address.</p>
    ${fieldOf({ name: 'who', label: 'Provider number, or e-mail address', value: typed.who, autocomplete: 'username', isRequired: true, ...wrongIn(refused, ['who']) })}
    <button>Send a link</button>
  </form>`;
}

function byFile({ base, typed, refused, sendsMail }: ForgotView): Markup {
  return html`<form class="card narrow" method="post" action="${base}/forgot/file" novalidate>
    <h2>By a file on your site</h2>
    <p>
      You get another password, and a small file that has to be in every directory that you have registered.
      The password is in use, and the old one void, when the file was found there.
    </p>
    ${fieldOf({ name: 'number', label: 'Provider number', hint: 'It is in your crontab line, after --pid', value: typed.number, autocomplete: 'username', inputmode: 'numeric', isRequired: true, ...wrongIn(refused, ['number']) })}
    ${fieldOf({ name: 'url', label: 'Address of one of your directories', hint: 'As you registered it: http://www.example.org/', value: typed.url, type: 'url', autocomplete: 'url', isRequired: true, ...wrongIn(refused, ['address']) })}
    <button${sendsMail ? html` class="plain"` : ''}>Get a secret and a password</button>
  </form>`;
}
