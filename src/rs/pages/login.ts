/** Where a provider logs in, and out. */
import { Hono, type Context } from 'hono';
import { html } from 'hono/html';
import { clientOf, type NodeBindings } from '../api-parts.js';
import { loginOf } from '../provider-login.js';
import { RsRequestRefused } from '../refusal.js';
import { refusing } from '../refused-requests.js';
import { fieldsOf, summaryOf } from './fields.js';
import { fieldOf, type Markup } from './layout.js';
import type { PageParts } from './parts.js';
import { sessionGate, type SessionEnv } from './session-gate.js';

/** A page of the provider's own, to which a login leads back. */
const OWN_PAGE = /^\/me(?:\/[a-z]{1,20})?$/;

/** Where to log in, and come back from there. */
export function toLoginFrom(base: string, c: Pick<Context, 'req'>): string {
  const path = c.req.path.slice(base.length).replace(/\/$/, '');
  return OWN_PAGE.test(path) && path !== '/me'
    ? `${base}/login?next=${encodeURIComponent(path)}`
    : `${base}/login`;
}

/** `/login` and `/logout`. */
export function loginPages({ sessions, cookie, account, view, options, base, page }: PageParts) {
  const pages = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  const gate = sessionGate('provider', sessions, cookie, () => `${base}/login`);

  pages.get('/login', c => {
    if (sessions.find('provider', cookie.read(c)) !== undefined) return c.redirect(`${base}/me`, 303);
    return c.html(page({ title: 'Log in', here: '/login', body: form(c.req.query('next') ?? '', '') }));
  });
  pages.post('/login', async c => {
    let fields = { number: '', password: '', next: '' };
    const { address, network } = clientOf(c, options);
    try {
      fields = await fieldsOf(c, ['number', 'password', 'next']);
      const number = fields.number.trim();
      const { pid, generation } = await account.attempt(address, () =>
        loginOf(number, fields.password.trim(), address, view),
      );
      const login = { kind: 'provider', account: String(pid), mark: String(generation), network } as const;
      cookie.write(c, sessions.begin(login, cookie.read(c)));
      return c.redirect(base + (OWN_PAGE.test(fields.next) ? fields.next : '/me'), 303);
    } catch (error) {
      if (!(error instanceof RsRequestRefused)) throw error;
      const { status } = error;
      refusing(c, error, fields.number);
      const body = form(fields.next, fields.number, error);
      return c.html(page({ title: 'Log in', here: '/login', body }), status);
    }
  });
  const leaving = new Hono<SessionEnv>({ strict: false });
  leaving.use(gate);
  leaving.post('/', c => {
    const token = cookie.read(c);
    if (token !== undefined) sessions.end(token);
    cookie.clear(c);
    return c.redirect(`${base}/`, 303);
  });
  pages.route('/logout', leaving);
  return pages;

  function form(next: string, number: string, refused?: RsRequestRefused): Markup {
    return html`<h1>Log in</h1>
      ${summaryOf(refused, { login: 'number' })}
      <form class="card narrow" method="post" action="${base}/login" novalidate>
        ${fieldOf({ name: 'number', label: 'Provider number', hint: 'You got it with the password, such as 100042', value: number, autocomplete: 'username', inputmode: 'numeric', isRequired: true })}
        ${fieldOf({ name: 'password', label: 'Password', hint: 'It is in the file that your crontab line names after --pwdfile', type: 'password', autocomplete: 'current-password', isRequired: true })}
        ${OWN_PAGE.test(next) ? html`<input type="hidden" name="next" value="${next}" />` : ''}
        <button>Log in</button>
      </form>
      <p class="after"><a href="${base}/forgot">Forgotten the password?</a></p>
      <p>No site here yet? <a href="${base}/register">Register one</a></p>`;
  }
}
