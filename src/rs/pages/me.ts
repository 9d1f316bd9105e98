/** View of a provider on itself, `/me` and below. */
import { Hono } from 'hono';
import { html } from 'hono/html';
import type { ShownProvider } from '../../db/providers/registered.js';
import type { Clock } from '../../lib/clock.js';
import { MAX_RS_ERRORS } from '../../wire/qm-rs.js';
import { urlBelow, type RsOptions } from '../options.js';
import type { PushView } from '../push/shown.js';
import type { Markup, PageMaker } from './layout.js';
import { toLoginFrom } from './login.js';
import { CSV_HEAD, csvLine, errorFilterOf, errorsBody, ERRORS_PAGE } from './me-errors.js';
import { feedsPage, type FeedPageParts } from './me-feeds.js';
import { leavePage } from './me-leave.js';
import { mailPage } from './me-mail.js';
import { overview } from './me-overview.js';
import { outcomeNote, type MeContext, type MeParts, type ProviderEnv } from './me-parts.js';
import { pushPage } from './me-push.js';
import { passwordPage, type PasswordParts, type PasswordShown } from './me-password.js';
import { receiptsBody, RECEIPTS_PAGE, urlsIn } from './me-receipts.js';
import { rootsPages, type RootsParts } from './me-roots.js';
import { termsPage, type OwnHours } from './me-terms.js';
import type { QmAnswers } from './qm-answers.js';
import { sessionGate } from './session-gate.js';
import { ShownOnce } from './shown-once.js';

export interface MeOptions
  extends
    Omit<MeParts, 'show' | 'options'>,
    Pick<PasswordParts, 'sessions' | 'cookie' | 'door'>,
    Pick<RootsParts, 'pairSecrets' | 'moreRootsOf'>,
    Pick<FeedPageParts, 'feeds'> {
  qm: QmAnswers;
  /** Permitted hours, in its own zone; undefined: it did not register here. */
  hoursOf: (pid: number) => OwnHours | undefined;
  /** The pushes of a provider. */
  pushes: (provider: ShownProvider) => PushView;
  options: MeParts['options'] & Pick<RsOptions, 'url' | 'uns' | 'slots' | 'fullSetPeriodMs' | 'leaveMs'>;
  clock: Clock;
  /** How the commands are installed. */
  install: Markup;
  page: PageMaker;
}

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

export function mePages(all: MeOptions) {
  const { sessions, cookie, qm, hoursOf, options, clock, install, base, page } = all;
  const pages = new Hono<ProviderEnv>({ strict: false });
  const zoneOf = (pid: number) => hoursOf(pid)?.zone ?? undefined;
  pages.use(sessionGate('provider', sessions, cookie, c => toLoginFrom(base, c)));
  pages.use(async (c, next) => {
    const { account, mark } = c.get('session');
    const provider = await qm.provider(Number(account));
    // A password that was set meanwhile ends every session of the one before.
    const isIn = provider !== undefined && (provider.enabled || provider.leaveat !== null);
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
    const zone = zoneOf(provider.pid);
    const body = overview({ provider, base, install, zone, nowMs: clock.nowMs(), ...options });
    return show(c, '/me', 'Overview', html`${outcomeNote(c, 'You stay.')} ${body}`);
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
    const { pid } = c.var.provider;
    const typed = c.req.query('urls') ?? '';
    const urls = urlsIn(typed);
    const standings = urls.length > RECEIPTS_PAGE ? [] : await qm.urls(pid, urls);
    const [only = ''] = urls;
    const lives = urls.length === 1 ? await qm.life(pid, only) : [];
    const view = { base, typed, urls, standings, lives, nowMs: clock.nowMs(), zone: zoneOf(pid) };
    return show(c, '/me/receipts', 'Receipts', receiptsBody(view));
  });
  pages.get('/pushes', c => {
    const { provider } = c.var;
    const at = urlBelow(options.url, 'indexnow');
    return show(
      c,
      '/me/pushes',
      'Pushes',
      pushPage(all.pushes(provider), at, clock.nowMs(), zoneOf(provider.pid)),
    );
  });
  const parts: MeParts = { ...all, show };
  rootsPages(pages, { ...parts, pairSecrets: all.pairSecrets, moreRootsOf: all.moreRootsOf });
  feedsPage(pages, { ...parts, feeds: all.feeds, nowMs: () => clock.nowMs(), zoneOf });
  termsPage(pages, { ...parts, hoursOf });
  mailPage(pages, parts);
  passwordPage(pages, { ...all, ...parts, passwords: new ShownOnce<PasswordShown>(clock) });
  leavePage(pages, { ...parts, leaveMs: options.leaveMs, zoneOf });
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
