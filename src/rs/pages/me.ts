/** What a provider sees of itself, `/me` and below. */
import { Hono, type Context } from 'hono';
import type { Clock } from '../../lib/clock.js';
import { MAX_RS_ERRORS } from '../../wire/qm-rs.js';
import type { RsOptions } from '../options.js';
import type { WebSessions } from '../sessions.js';
import type { Markup, PageMaker } from './layout.js';
import { toLoginFrom } from './login.js';
import { CSV_HEAD, csvLine, errorFilterOf, errorsBody, ERRORS_PAGE } from './me-errors.js';
import { overview } from './me-overview.js';
import { receiptsBody, RECEIPTS_PAGE, urlsIn } from './me-receipts.js';
import { providerGate, type ProviderEnv } from './provider-gate.js';
import type { QmAnswers } from './qm-answers.js';
import { sessionGate, type SessionCookie } from './session-gate.js';

export interface MeOptions {
  sessions: WebSessions;
  cookie: SessionCookie;
  qm: QmAnswers;
  options: Pick<RsOptions, 'uns' | 'slots' | 'fullSetPeriodMs'>;
  clock: Pick<Clock, 'nowMs'>;
  base: string;
  page: PageMaker;
}

/** Pages of a provider, in the order of its navigation. */
export const ME_NAV = [
  { path: '/me', label: 'Overview' },
  { path: '/me/errors', label: 'Errors' },
  { path: '/me/receipts', label: 'Receipts' },
];

export function mePages({ sessions, cookie, qm, options, clock, base, page }: MeOptions) {
  const pages = new Hono<ProviderEnv>({ strict: false });
  const zone = undefined;
  pages.use(sessionGate('provider', sessions, cookie, c => toLoginFrom(base, c)));
  pages.use(providerGate(sessions, cookie, qm, `${base}/login`));

  pages.get('/', c => {
    const { provider } = c.var;
    const nowMs = clock.nowMs();
    return show(c, '/me', 'Overview', overview({ provider, base, zone, nowMs, ...options }));
  });
  pages.get('/errors', async c => {
    const { provider } = c.var;
    const filter = errorFilterOf(name => c.req.query(name));
    const errors = await qm.errors(provider.pid, { ...filter, limit: ERRORS_PAGE + 1 });
    return show(c, '/me/errors', 'Errors', errorsBody({ provider, errors, filter, base }));
  });
  pages.get('/errors.csv', c => {
    const { pid } = c.var.provider;
    const filter = errorFilterOf(name => c.req.query(name));
    return c.body(csvOf(pid, { ...filter, after: 0 }), 200, {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="errors-${pid}.csv"`,
    });
  });
  pages.get('/receipts', async c => {
    const typed = c.req.query('urls') ?? '';
    const urls = urlsIn(typed);
    const standings = urls.length > RECEIPTS_PAGE ? [] : await qm.urls(c.var.provider.pid, urls);
    const body = receiptsBody({ base, typed, urls, standings, nowMs: clock.nowMs(), zone });
    return show(c, '/me/receipts', 'Receipts', body);
  });
  return pages;

  function show(c: Context<ProviderEnv>, here: string, title: string, body: Markup) {
    const { provider, session } = c.var;
    const login = { account: `Provider ${provider.pid}`, formToken: session.formToken };
    return c.html(page({ title, here, login, body }));
  }

  /** All of them, read as they are sent. */
  function csvOf(pid: number, filter: ReturnType<typeof errorFilterOf>): ReadableStream {
    let { after } = filter;
    let isFirst = true;
    const text = new TextEncoder();
    return new ReadableStream({
      async pull(sink) {
        const errors = await qm.errors(pid, { ...filter, after, limit: MAX_RS_ERRORS });
        const lines = errors.map(csvLine).join('');
        if (isFirst || lines !== '') sink.enqueue(text.encode(isFirst ? CSV_HEAD + lines : lines));
        isFirst = false;
        after = errors.at(-1)?.errseq ?? after;
        if (errors.length < MAX_RS_ERRORS) sink.close();
      },
    });
  }
}
