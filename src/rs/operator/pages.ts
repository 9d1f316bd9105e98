/** The operators' pages, `/op` and below, complete without JavaScript. */
import { Hono, type Context } from 'hono';
import { html } from 'hono/html';
import { RS_CONTROLS, type RsControl } from '../../wire/qm-rs.js';
import { fieldsOf } from '../pages/fields.js';
import type { Markup } from '../pages/layout.js';
import { SessionCookie, type SessionEnv } from '../pages/session-gate.js';
import { shellOf, type ShellOptions } from '../pages/shell.js';
import { RsRequestRefused } from '../refusal.js';
import type { WebSessions } from '../sessions.js';
import { TERMS, type GivenTerms, type MostTerms } from '../terms.js';
import {
  applicationPage,
  applicationsPage,
  providerPage,
  type DecisionView,
  type Refused,
} from './application-pages.js';
import type { Decisions } from './decisions.js';
import { operatorGate, operatorLoginPages, operatorOrigin } from './gate.js';
import { auditPage, daemonsPage, providersPage, queuePage, refusalsPage } from './list-pages.js';
import type { OperatorLogins } from './operators.js';
import { graphFiles, versionOf } from './graph-script.js';
import { DrawnGraphs, overviewPage } from './overview-page.js';
import { idIn, jsonOf, numberIn, searchOf, stepOf } from './query.js';
import { OPERATOR_STYLE } from './style.js';
import type { OperatorViews } from './views.js';

/** Until the script looks again at what changes by itself. */
const WATCH_S = 10;
const NAV = [
  { path: '/', label: 'Overview' },
  { path: '/applications', label: 'Applications' },
  { path: '/queue', label: 'Queue' },
  { path: '/providers', label: 'Providers' },
  { path: '/daemons', label: 'Daemons' },
  { path: '/refusals', label: 'Refusals' },
  { path: '/audit', label: 'Audit' },
];

export interface OperatorPagesOptions extends Pick<ShellOptions, 'maxBodyBytes' | 'failed'> {
  /** `rs.operator_url`, or ''. */
  url: string;
  sessions: WebSessions;
  logins: OperatorLogins;
  views: OperatorViews;
  decisions: Decisions;
  most: MostTerms;
  first: Required<GivenTerms>;
  nowMs: () => number;
}

type Ask = Context<SessionEnv>;

/** To be served below `base`. */
export function operatorPages(parts: OperatorPagesOptions) {
  const { url, sessions, logins, views, decisions, most, first, nowMs } = parts;
  const own = `${(url === '' ? 'http://localhost' : url).replace(/\/$/, '')}/op`;
  const files = [['operator.css', 'text/css; charset=utf-8', OPERATOR_STYLE] as const, ...graphFiles()];
  const shell = shellOf({
    ...parts,
    url: own,
    originOf: c => operatorOrigin(c, url),
    contact: 'the manuals lccd-rs(8), lccrs(8) and lccctl(8)',
    nav: { out: [], in: NAV },
    badge: 'operator',
    head: html`${files.map(([name, , text]) => {
      const address = `${new URL(own).pathname}/static/${name}?${versionOf(text)}`;
      return name.endsWith('.css')
        ? html`<link rel="stylesheet" href="${address}" />`
        : html`<script src="${address}" defer></script>`;
    })}`,
    files,
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
  const graphs = new DrawnGraphs();
  pages.get('/', c => {
    const body = overviewPage(views, graphs, stepOf(c), base, nowMs());
    return show(c, 'Overview', '/', body, 200, { watchS: WATCH_S });
  });
  // As the API has them, for the script of a page that is logged in.
  pages.get('/series', c => jsonOf(c, views.series(stepOf(c))));
  pages.get('/queue', c =>
    show(c, 'Queue', '/queue', queuePage(views, base, nowMs()), 200, { watchS: WATCH_S }),
  );
  pages.get('/daemons', c =>
    show(c, 'Daemons', '/daemons', daemonsPage(views, nowMs()), 200, { watchS: WATCH_S }),
  );
  pages.get('/providers', async c => {
    const search = (c.req.query('search') ?? '').trim();
    const list = await views.providers(searchOf(search), numberIn(c, 'after') ?? 0);
    return show(c, 'Providers', '/providers', providersPage(list, search, base));
  });
  pages.get('/providers/:pid', c => showProvider(c, idIn(c, 'pid')));
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

  pages.post('/applications/:id/approve', async c => {
    const [id, typed] = [
      idIn(c, 'id'),
      await fieldsOf(
        c,
        TERMS.map(({ name }) => name),
      ),
    ];
    return decided(
      () => decisions.approve(id, typed, c.var.session.account),
      () => c.redirect(`${base}/applications/${id}`, 303),
      error => showApplication(c, id, { error, typed }),
    );
  });
  pages.post('/applications/:id/refuse', async c => {
    const [id, typed] = [idIn(c, 'id'), await fieldsOf(c, ['reason'])];
    return decided(
      () => decisions.refuse(id, typed.reason, c.var.session.account),
      () => c.redirect(`${base}/applications/${id}`, 303),
      error => showApplication(c, id, { error, typed }),
    );
  });
  for (const op of RS_CONTROLS)
    pages.post(`/providers/:pid/${op}`, async c => {
      const [pid, typed] = [idIn(c, 'pid'), await fieldsOf(c, ['reason'])];
      return control(c, pid, op, typed);
    });
  app.route('/', pages);
  shell.seal();
  return { app, onError: shell.onError, base };

  function control(c: Ask, pid: number, op: RsControl, typed: { reason: string }) {
    return decided(
      () => decisions.control(pid, op, typed.reason, c.var.session.account),
      () => c.redirect(`${base}/providers/${pid}`, 303),
      error => showProvider(c, pid, { error, typed }),
    );
  }

  async function showProvider(c: Ask, pid: number, refused?: Refused) {
    const body = providerPage(pid, await views.provider(pid), viewOf(c), refused);
    return show(c, `Provider ${pid}`, '/providers', body, refused?.error.status);
  }

  async function showApplication(c: Ask, id: number, refused?: Refused) {
    const application = await views.application(id);
    const body = applicationPage(application, viewOf(c), refused);
    return show(c, application.url, '/applications', body, refused?.error.status);
  }
}

/** Shows the form again, with what is wrong. */
async function decided<T>(
  decide: () => void,
  done: () => T,
  refused: (error: RsRequestRefused) => T | Promise<T>,
): Promise<T> {
  try {
    decide();
  } catch (error) {
    if (!(error instanceof RsRequestRefused)) throw error;
    return refused(error);
  }
  return done();
}
