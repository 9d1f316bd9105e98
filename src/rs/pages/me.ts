/** View of a provider on itself, `/me` and below. */
import { Hono } from 'hono';
import { html } from 'hono/html';
import {
  MAX_RS_ERRORS,
  type KeptError,
  type RsErrorsWanted,
  type RsQuestion,
  type UrlStanding,
} from '../../wire/qm-rs.js';
import type { UrlLife } from '../../wire/url-life.js';
import { shownBy, type QmTold } from '../ground.js';
import { urlBelow } from '../options.js';
import { pushView } from '../push/shown.js';
import { busy } from '../refusal.js';
import type { Markup } from './layout.js';
import { toLoginFrom } from './login.js';
import { CSV_HEAD, csvLine, errorFilterOf, errorsBody, ERRORS_PAGE } from './me-errors.js';
import { feedsPage } from './me-feeds.js';
import { leavePage } from './me-leave.js';
import { mailPage } from './me-mail.js';
import { overview } from './me-overview.js';
import { outcomeNote, zoneOf, type MeContext, type MeParts, type ProviderEnv } from './me-parts.js';
import { pushPage } from './me-push.js';
import { passwordPage } from './me-password.js';
import { receiptsBody, RECEIPTS_PAGE, urlsIn } from './me-receipts.js';
import { rootsPages } from './me-roots.js';
import { termsPage } from './me-terms.js';
import type { PageParts } from './parts.js';
import { sessionGate } from './session-gate.js';

/** Pages of a provider, in the order of its navigation. */
export const ME_NAV = [
  { path: '/me', label: 'Overview' },
  { path: '/me/errors', label: 'Errors' },
  { path: '/me/receipts', label: 'Receipts' },
  { path: '/me/pushes', label: 'Pushes' },
  { path: '/me/roots', label: 'Directories' },
  { path: '/me/feeds', label: 'Feeds' },
  { path: '/me/terms', label: 'Terms' },
  { path: '/me/mail', label: 'E-mail' },
  { path: '/me/password', label: 'Password' },
  { path: '/me/leave', label: 'Leave' },
];

export function mePages(all: PageParts) {
  const { sessions, cookie, view, options, clock, install, base, page } = all;
  const pages = new Hono<ProviderEnv>({ strict: false });
  const parts: MeParts = { ...all, show };

  pages.use(sessionGate('provider', sessions, cookie, c => toLoginFrom(base, c)));
  pages.use(async (c, next) => {
    const { account, mark } = c.get('session');
    const provider = await shownBy(view.ask, Number(account));
    if (provider === undefined) throw busy();
    // A password that was set meanwhile ends every session of the one before.
    const isIn = provider !== null && (provider.enabled || provider.leaveat !== null);
    if (!isIn || String(provider.generation) !== mark) {
      sessions.endOf('provider', account);
      cookie.clear(c);
      return c.redirect(`${base}/login`, 303);
    }
    c.set('provider', provider);
    return next();
  });

  pages.get('/', c => {
    const { provider } = c.var;
    const zone = zoneOf(parts, provider.pid);
    const body = overview({ provider, base, install, zone, nowMs: clock.nowMs(), ...options });
    return show(c, '/me', 'Overview', html`${outcomeNote(c, 'You stay.')} ${body}`);
  });
  pages.get('/errors', async c => {
    const { provider } = c.var;
    const filter = errorFilterOf(name => c.req.query(name));
    const errors = await errorsOf(provider.pid, { ...filter, limit: ERRORS_PAGE + 1 });
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
    const { pid } = c.var.provider;
    const typed = c.req.query('urls') ?? '';
    const urls = urlsIn(typed);
    const isAsked = urls.length > 0 && urls.length <= RECEIPTS_PAGE;
    const standings = isAsked ? ((await told({ op: 'urls', pid, urls }))['urls'] as UrlStanding[][]) : [];
    const [only = ''] = urls;
    const lives =
      urls.length === 1 ? ((await told({ op: 'life', pid, url: only }))['lives'] as UrlLife[]) : [];
    const view = { base, typed, urls, standings, lives, nowMs: clock.nowMs(), zone: zoneOf(parts, pid) };
    return show(c, '/me/receipts', 'Receipts', receiptsBody(view));
  });
  pages.get('/pushes', c => {
    const { provider } = c.var;
    all.refusals.flush();
    const pushes = pushView(all.db, provider.pid, provider);
    const at = urlBelow(options.url, 'indexnow');
    const body = pushPage(pushes, at, clock.nowMs(), zoneOf(parts, provider.pid));
    return show(c, '/me/pushes', 'Pushes', body);
  });
  rootsPages(pages, parts);
  feedsPage(pages, parts);
  termsPage(pages, parts);
  mailPage(pages, parts);
  passwordPage(pages, parts);
  leavePage(pages, parts);
  return pages;

  function show(
    c: MeContext,
    here: string,
    title: string,
    body: Markup,
    status: Parameters<MeParts['show']>[4] = 200,
  ) {
    const login = {
      account: `Provider ${c.get('provider').pid}`,
      formToken: c.get('session').formToken,
    };
    return c.html(page({ title, here, login, body }), status);
  }

  /** @throws RsRequestRefused 503 while the Queue Manager is away */
  async function told(question: RsQuestion): Promise<NonNullable<QmTold>> {
    const answer = await view.ask(question);
    if (answer === undefined) throw busy();
    return answer;
  }

  /** Errors that it has not received. */
  async function errorsOf(pid: number, wanted: RsErrorsWanted): Promise<KeptError[]> {
    const errors = (await told({ op: 'errors', pid, ...wanted }))['errors'] as KeptError[];
    return errors.map(each => ({ ...each, curl: visible(each.curl), text: visible(each.text) }));
  }

  /** All of them, read as they are sent. */
  function csvOf(pid: number, filter: ReturnType<typeof errorFilterOf>): ReadableStream {
    let { after } = filter;
    let isFirst = true;
    const text = new TextEncoder();
    return new ReadableStream({
      async pull(sink) {
        const errors = await errorsOf(pid, { ...filter, after, limit: MAX_RS_ERRORS });
        const lines = errors.map(csvLine).join('');
        if (isFirst || lines !== '') sink.enqueue(text.encode(isFirst ? CSV_HEAD + lines : lines));
        isFirst = false;
        after = errors.at(-1)?.errseq ?? after;
        if (errors.length < MAX_RS_ERRORS) sink.close();
      },
    });
  }
}

/** Text of a provider, as it may stand on a page or in a table: characters that are not seen, and turn those
 * after them, are written as their numbers. */
function visible(text: string): string {
  return text.replace(/[\p{Cf}\u2028\u2029]/gu, each => `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`);
}
