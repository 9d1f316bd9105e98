/** The operators' pages, `/op` and below, complete without JavaScript. */
import { Hono, type Context } from 'hono';
import { html } from 'hono/html';
import { fieldsOf } from '../pages/fields.js';
import type { Markup } from '../pages/layout.js';
import { errorFilterOf, ERRORS_PAGE } from '../pages/me-errors.js';
import { SessionCookie, type SessionEnv } from '../pages/session-gate.js';
import { shellOf, type ShellOptions } from '../pages/shell.js';
import { RsRequestRefused } from '../refusal.js';
import type { WebSessions } from '../sessions.js';
import type { TermNumbers } from '../../wire/terms.js';
import type { OperatorAction } from './actions.js';
import { applicationPage, applicationsPage, type DecisionView } from './application-pages.js';
import { operatorGate, operatorLoginPages, operatorOrigin } from './gate.js';
import { auditPage, daemonsPage, providersPage, queuePage, refusalsPage, urlPage } from './list-pages.js';
import type { OperatorLogins } from './operators.js';
import { graphsPage } from './graphs-page.js';
import { overviewPage } from './overview-page.js';
import { providerErrorsPage, providerPage, titleOfProvider } from './provider-page.js';
import { idIn, numberIn, searchOf, stepOf } from './query.js';
import { OPERATOR_STYLE, OPERATOR_STYLE_VERSION } from './style.js';
import type { Refused } from './term-fields.js';
import type { OperatorViews } from './views.js';

/** Until the script looks again at what changes by itself. */
const WATCH_S = 10;
const NAV = [
  { path: '/', label: 'Overview' },
  { path: '/graphs', label: 'Graphs' },
  { path: '/applications', label: 'Applications' },
  { path: '/queue', label: 'Queue' },
  { path: '/providers', label: 'Providers' },
  { path: '/url', label: 'Url' },
  { path: '/daemons', label: 'Daemons' },
  { path: '/refusals', label: 'Refusals' },
  { path: '/audit', label: 'Audit' },
];

export interface OperatorPagesOptions extends Pick<ShellOptions, 'failed'> {
  /** `rs.operator_url`, or ''. */
  url: string;
  /** Where sites register; '' where they cannot. */
  register: string;
  sessions: WebSessions;
  logins: OperatorLogins;
  views: OperatorViews;
  actions: readonly OperatorAction[];
  most: TermNumbers;
  first: TermNumbers;
  nowMs: () => number;
}

type Ask = Context<SessionEnv>;

/** To be served below `base`. */
export function operatorPages(parts: OperatorPagesOptions) {
  const { url, register, sessions, logins, views, actions, most, first, nowMs } = parts;
  const own = `${(url === '' ? 'http://localhost' : url).replace(/\/$/, '')}/op`;
  const shell = shellOf({
    ...parts,
    url: own,
    originOf: c => operatorOrigin(c, url),
    contact: 'the manuals lccd-rs(8), lccrs(8) and lccctl(8)',
    nav: { out: [], in: NAV },
    badge: 'operator',
    head: html`<link
      rel="stylesheet"
      href="${new URL(own).pathname}/static/operator.css?${OPERATOR_STYLE_VERSION}"
    />`,
    files: [['operator.css', 'text/css; charset=utf-8', OPERATOR_STYLE]],
  });
  const { app, page, base } = shell;
  const cookie = new SessionCookie('operator', own);
  const gated = { logins, sessions, cookie, base };
  app.route('/', operatorLoginPages(gated, page));
  const pages = new Hono<SessionEnv>({ strict: false });
  pages.use(...operatorGate(gated));

  const show = (
    c: Ask,
    title: string,
    here: string,
    body: Markup,
    status: 200 | RsRequestRefused['status'] = 200,
    more: { watchS?: number } = {},
  ) => {
    const { account, formToken } = c.var.session;
    return c.html(page({ title, here, body, login: { account, formToken }, ...more }), status);
  };
  const viewOf = (c: Ask): DecisionView => {
    const { formToken } = c.var.session;
    return { base, formToken, most, first, nowMs: nowMs() };
  };
  /** A page of what is seen of the whole LCC, which changes by itself. */
  const watched = (path: string, title: string, bodyOf: (c: Ask) => Markup) =>
    pages.get(path, async c => {
      await views.hear();
      return show(c, title, path, bodyOf(c), 200, { watchS: WATCH_S });
    });
  watched('/', 'Overview', () => overviewPage(views, base, register, nowMs()));
  watched('/graphs', 'Graphs', c => graphsPage(views, stepOf(c), base, nowMs()));
  watched('/queue', 'Queue', () => queuePage(views, base, nowMs()));
  watched('/daemons', 'Daemons', () => daemonsPage(views, nowMs()));
  pages.get('/url', async c => {
    const url = (c.req.query('url') ?? '').trim();
    return show(c, 'Url', '/url', urlPage(url, url === '' ? [] : await views.lives(url), base));
  });
  pages.get('/providers', async c => {
    const search = (c.req.query('search') ?? '').trim();
    const list = await views.providers(searchOf(search), numberIn(c, 'after') ?? 0);
    return show(c, 'Providers', '/providers', providersPage(list, search, base, register, nowMs()));
  });
  pages.get('/providers/:pid', c => showProvider(c, idIn(c, 'pid')));
  pages.get('/providers/:pid/errors', async c => {
    const pid = idIn(c, 'pid');
    const filter = errorFilterOf(name => c.req.query(name));
    const [seen, errors] = await Promise.all([
      views.provider(pid),
      views.errors(pid, { ...filter, limit: ERRORS_PAGE + 1 }),
    ]);
    const title = `Errors of ${titleOfProvider(pid, seen)}`;
    return show(c, title, '/providers', providerErrorsPage(pid, seen, errors, filter, base));
  });
  pages.get('/applications', c =>
    show(c, 'Applications', '/applications', applicationsPage(views, viewOf(c))),
  );
  pages.get('/applications/:id', c => showApplication(c, idIn(c, 'id')));
  pages.get('/refusals', c =>
    show(c, 'Refusals', '/refusals', refusalsPage(views.refusals(numberIn(c, 'before')), base)),
  );
  pages.get('/audit', c => {
    const pid = numberIn(c, 'pid');
    return show(c, 'Audit', '/audit', auditPage(views.audit(numberIn(c, 'before'), pid), pid, base));
  });

  for (const { of, op, fields, run } of actions)
    pages.post(`/${of}s/:id/${op}`, async c => {
      const [id, typed] = [idIn(c, 'id'), await fieldsOf(c, fields)];
      try {
        await run(id, typed, c.var.session.account);
      } catch (error) {
        if (!(error instanceof RsRequestRefused)) throw error;
        const refused = { error, typed };
        return of === 'application'
          ? showApplication(c, id, refused)
          : showProvider(c, id, refused, op === 'limits');
      }
      return c.redirect(`${base}/${of}s/${id}`, 303);
    });
  app.route('/', pages);
  shell.seal();
  return { app, onError: shell.onError, base };

  async function showProvider(c: Ask, pid: number, refused?: Refused, isTerms = false) {
    const seen = await views.provider(pid);
    const body = providerPage(pid, seen, viewOf(c), refused, isTerms);
    return show(c, titleOfProvider(pid, seen), '/providers', body, refused?.error.status);
  }

  async function showApplication(c: Ask, id: number, refused?: Refused) {
    const application = await views.application(id);
    const body = applicationPage(application, viewOf(c), refused);
    return show(c, application.url, '/applications', body, refused?.error.status);
  }
}
