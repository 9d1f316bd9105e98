/** Another password for a provider that knows the one it has: `/me/password`. */
import { html } from 'hono/html';
import { clientOf } from '../api-parts.js';
import { requirePassword } from '../provider-login.js';
import { RsRequestRefused } from '../refusal.js';
import { fieldOf, formTokenField, type Markup } from './layout.js';
import { summaryOf, wrongIn } from './fields.js';
import { accountField, formPage, type MeApp, type MeContext, type MeParts } from './me-parts.js';
import { newPasswordNote } from './pair.js';
import { ShownOnce } from './shown-once.js';

const PATH = '/me/password';

interface PasswordShown {
  password: string;
  /** False: the old one holds until the Queue Manager is there. */
  isInUse: boolean;
}

export function passwordPage(app: MeApp, parts: MeParts): void {
  const { account, base, sessions, cookie, view, clock } = parts;
  /** By number of the provider. */
  const passwords = new ShownOnce<PasswordShown>(clock);
  formPage(app, parts, {
    path: PATH,
    title: 'Password',
    fields: ['password'],
    body(c, _typed, refused) {
      const shown = refused === undefined ? passwords.take(keyOf(c)) : undefined;
      return shown === undefined ? form(c, refused) : shownOnce(c, shown);
    },
    async act(c, { password }) {
      const { pid, generation } = c.var.provider;
      const { address, network } = clientOf(c, parts.options);
      await account.attempt(address, () => requirePassword(String(pid), password.trim(), address, view.door));
      const made = await account.rotate(pid, network);
      const { state, reason } = made.registration;
      if (state === 'refused')
        throw new RsRequestRefused(409, 'refused', reason?.what ?? 'this is refused', 'load the page again');
      const isInUse = state === 'active';
      if (isInUse) {
        // All that began with the old one are over; this browser goes on with another token.
        sessions.endOf('provider', String(pid));
        const mark = String(generation + 1);
        const login = { kind: 'provider', account: String(pid), mark, network } as const;
        cookie.write(c, sessions.begin(login, cookie.read(c)));
      }
      passwords.keep(`${pid} ${isInUse ? generation + 1 : generation}`, {
        password: made.password,
        isInUse,
      });
      return PATH;
    },
  });

  /** Key of a shown-once secret: provider and password generation, so a session with another one sees
   * nothing. */
  function keyOf(c: MeContext): string {
    const { pid, generation } = c.var.provider;
    return `${pid} ${generation}`;
  }

  function form(c: MeContext, refused: RsRequestRefused | undefined): Markup {
    return html`<h1>Password</h1>
      ${summaryOf(refused, { login: 'password' })}
      <p class="lead narrow">
        Get another password when somebody else may know this one. The old one is void at once, and all logins
        but this one are over.
      </p>
      <form class="card narrow" method="post" action="${base}${PATH}" novalidate>
        ${formTokenField(c.var.session.formToken)} ${accountField(c.var.provider.pid)}
        ${fieldOf({ name: 'password', label: 'The password that you have', type: 'password', autocomplete: 'current-password', isRequired: true, ...wrongIn(refused, ['login']) })}
        <button>Get another password</button>
      </form>`;
  }

  function shownOnce(c: MeContext, { password, isInUse }: PasswordShown): Markup {
    return html`${newPasswordNote(c.var.provider.pid, password)}
      <p>
        ${
          isInUse
            ? 'The old one is void. Your crontab line delivers again as soon as its file has the new one.'
            : 'This is being set up: the old one holds until then, which takes a moment.'
        }
      </p>
      <p><a href="${base}/me">To the overview</a></p>`;
  }
}
