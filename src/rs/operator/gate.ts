/** Who may see the operators' pages: those with a session that began with the password that is good now. */
import { hash } from 'node:crypto';
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { html } from 'hono/html';
import { isLoopback } from '../../lib/loopback.js';
import { clientAddress } from '../../web/client.js';
import type { NodeBindings } from '../api.js';
import { networkOf } from '../limits.js';
import { fieldsOf, summaryOf } from '../pages/fields.js';
import { fieldOf, type Markup, type PageMaker } from '../pages/layout.js';
import { sessionGate, type SessionCookie, type SessionEnv } from '../pages/session-gate.js';
import { RsRequestRefused } from '../refusal.js';
import { refusing } from '../refused-requests.js';
import type { WebSessions } from '../sessions.js';
import type { OperatorLogins } from './operators.js';

const MARK_LENGTH = 16;

/**
 * The origin that forms of the operators' pages come from. Without an address of their own these are used
 * under one of the loopback, so a name of the internet that leads here is a trick of a page elsewhere.
 * @param url `rs.operator_url`, or ''
 * @throws RsRequestRefused 403 for a name that is not of the loopback
 */
export function operatorOrigin(
  c: Pick<Context<{ Bindings: NodeBindings }>, 'req' | 'env'>,
  url: string,
): string {
  if (url !== '') return new URL(url).origin;
  const host = c.req.header('host') ?? '';
  const [, name = ''] = /^(\[[0-9a-f:.]+\]|[\w.-]+)(?::\d+)?$/i.exec(host) ?? [];
  if (!isLoopback(name))
    throw new RsRequestRefused(
      403,
      'host',
      'these pages are used under an address of the loopback',
      'open http://localhost:PORT/op, or set rs.operator_url',
    );
  return `${'encrypted' in c.env.incoming.socket ? 'https' : 'http'}://${host}`;
}

export interface OperatorGateOptions {
  logins: OperatorLogins;
  sessions: WebSessions;
  cookie: SessionCookie;
  base: string;
}

/** After it, `session` is there. */
export function operatorGate({
  logins,
  sessions,
  cookie,
  base,
}: OperatorGateOptions): [MiddlewareHandler<SessionEnv>, MiddlewareHandler<SessionEnv>] {
  const toLogin = () => `${base}/login`;
  return [
    sessionGate('operator', sessions, cookie, toLogin),
    async (c, next) => {
      const { account, mark } = c.get('session');
      if (markOf(logins, account) !== mark) {
        sessions.endOf('operator', account);
        cookie.clear(c);
        return c.redirect(toLogin(), 303);
      }
      return next();
    },
  ];
}

/** Mark of the password that is good now, from which nothing can be found; '': there is no such operator. */
function markOf(logins: OperatorLogins, name: string): string {
  const stored = logins.stored(name);
  return stored === undefined ? '' : hash('sha256', `mark ${stored}`).slice(0, MARK_LENGTH);
}

/** `login` and `logout`. */
export function operatorLoginPages(options: OperatorGateOptions, page: PageMaker) {
  const { logins, sessions, cookie, base } = options;
  const pages = new Hono<SessionEnv>({ strict: false });
  const show = (name: string, refused?: RsRequestRefused) =>
    page({ title: 'Log in', here: '/login', body: form(base, name, refused) });
  pages.get('/login', c => c.html(show('')));
  pages.post('/login', async c => {
    const { name, password } = await fieldsOf(c, ['name', 'password']);
    const address = clientAddress(c.env.incoming, undefined);
    if (!(await logins.areRight(name.trim(), password.trim(), address))) {
      const wrong = new RsRequestRefused(
        401,
        'login',
        'name and password do not belong together',
        'check both',
      );
      refusing(c, wrong, name.trim());
      return c.html(show(name, wrong), 401);
    }
    const account = name.trim();
    const login = {
      kind: 'operator',
      account,
      mark: markOf(logins, account),
      network: networkOf(address),
    } as const;
    cookie.write(c, sessions.begin(login, cookie.read(c)));
    return c.redirect(base, 303);
  });
  pages.post('/logout', ...operatorGate(options), c => {
    const token = cookie.read(c);
    if (token !== undefined) sessions.end(token);
    cookie.clear(c);
    return c.redirect(`${base}/login`, 303);
  });
  return pages;
}

function form(base: string, name: string, refused: RsRequestRefused | undefined): Markup {
  return html`<h1>Log in</h1>
    ${summaryOf(refused, { login: 'name' })}
    <form method="post" action="${base}/login" novalidate>
      ${fieldOf({ name: 'name', label: 'Name', value: name, autocomplete: 'username', isRequired: true })}
      ${fieldOf({ name: 'password', label: 'Password', hint: 'lccrs operator add NAME makes one', type: 'password', autocomplete: 'current-password', isRequired: true })}
      <button>Log in</button>
    </form>`;
}
