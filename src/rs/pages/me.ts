/** What a provider sees of itself, `/me` and below. */
import { Hono } from 'hono';
import { html } from 'hono/html';
import type { Clock } from '../../lib/clock.js';
import { MAX_RS_ERRORS } from '../../wire/qm-rs.js';
import type { RsOptions } from '../options.js';
import { PLACE, textOf, type Markup, type PageMaker } from './layout.js';
import { toLoginFrom } from './login.js';
import { CSV_HEAD, csvLine, errorFilterOf, errorsBody, ERRORS_PAGE } from './me-errors.js';
import { leavePage } from './me-leave.js';
import { mailPage } from './me-mail.js';
import { overview } from './me-overview.js';
import { outcomeNote, type MeContext, type MeParts } from './me-parts.js';
import { passwordPage, type PasswordParts, type PasswordShown } from './me-password.js';
import { receiptsBody, RECEIPTS_PAGE, urlsIn } from './me-receipts.js';
import { rootsPages, type RootsParts } from './me-roots.js';
import { termsPage, type OwnHours } from './me-terms.js';
import { providerGate, type ProviderEnv } from './provider-gate.js';
import type { QmAnswers } from './qm-answers.js';
import { sessionGate } from './session-gate.js';
import { SharedBodies, type SharedPage } from './shared-bodies.js';
import { ShownOnce } from './shown-once.js';

export interface MeOptions
  extends
    Omit<MeParts, 'show' | 'options'>,
    Pick<PasswordParts, 'sessions' | 'cookie' | 'door'>,
    Pick<RootsParts, 'pairSecrets' | 'moreRootsOf'> {
  qm: QmAnswers;
  /** What it permits, in its own zone; undefined: it did not register here. */
  hoursOf: (pid: number) => OwnHours | undefined;
  options: MeParts['options'] & Pick<RsOptions, 'uns' | 'slots' | 'fullSetPeriodMs' | 'leaveMs'>;
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
  { path: '/me/roots', label: 'Directories' },
  { path: '/me/terms', label: 'Terms' },
  { path: '/me/mail', label: 'E-mail' },
  { path: '/me/password', label: 'Password' },
  { path: '/me/leave', label: 'Leave' },
];

export function mePages(all: MeOptions) {
  const { sessions, cookie, qm, hoursOf, options, clock, install, base, page } = all;
  const pages = new Hono<ProviderEnv>({ strict: false });
  const bodies = new SharedBodies();
  /** Changed by an operation of the provider only, which ends the answers that bodies are made of. */
  const zoneOf = (pid: number) => hoursOf(pid)?.zone ?? undefined;
  pages.use(sessionGate('provider', sessions, cookie, c => toLoginFrom(base, c)));
  pages.use(providerGate(sessions, cookie, qm, `${base}/login`));

  pages.get('/', c => {
    const { provider } = c.var;
    const nowMs = clock.nowMs();
    const note = outcomeNote(c, 'You stay.');
    const make = () => overview({ provider, base, install, zone: zoneOf(provider.pid), nowMs, ...options });
    return showShared(c, '/me', 'Overview', { from: [provider], key: '', make }, note);
  });
  pages.get('/errors', async c => {
    const { provider } = c.var;
    const filter = errorFilterOf(name => c.req.query(name));
    const errors = await qm.errors(provider.pid, { ...filter, limit: ERRORS_PAGE + 1 }, true);
    const make = () => errorsBody({ provider, errors, filter, base });
    return showShared(c, '/me/errors', 'Errors', { from: [errors, provider], key: '', make });
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
    const { provider } = c.var;
    const typed = c.req.query('urls') ?? '';
    const urls = urlsIn(typed);
    const standings = urls.length > RECEIPTS_PAGE ? [] : await qm.urls(provider.pid, urls);
    const [only = ''] = urls;
    const life = urls.length === 1 ? [await qm.life(provider.pid, only)] : [];
    const make = () =>
      receiptsBody({
        base,
        typed,
        urls,
        standings,
        lives: life.flat(),
        nowMs: clock.nowMs(),
        zone: zoneOf(provider.pid),
      });
    return showShared(c, '/me/receipts', 'Receipts', { from: [standings, ...life], key: typed, make });
  });
  const parts: MeParts = { ...all, show };
  rootsPages(pages, { ...parts, pairSecrets: all.pairSecrets, moreRootsOf: all.moreRootsOf });
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
    return c.html(page({ title, here, login: loginOf(c), body }), status);
  }

  function showShared(
    c: MeContext,
    here: string,
    title: string,
    content: Pick<SharedPage, 'from' | 'key' | 'make'>,
    note: Markup | string = '',
  ) {
    const login = loginOf(c);
    const whole = bodies.pageOf({
      ...content,
      reader: `${login.formToken} ${textOf(note)}`,
      around: () => page({ title, here, login, body: html`${note} ${PLACE}` }),
    });
    return c.body(whole, 200, { 'content-type': 'text/html; charset=UTF-8' });
  }

  function loginOf(c: MeContext) {
    return { account: `Provider ${c.get('provider').pid}`, formToken: c.get('session').formToken };
  }

  /** All of them, read as they are sent. */
  function csvOf(pid: number, filter: ReturnType<typeof errorFilterOf>): ReadableStream {
    let { after } = filter;
    let isFirst = true;
    const text = new TextEncoder();
    return new ReadableStream({
      async pull(sink) {
        const errors = await qm.errors(pid, { ...filter, after, limit: MAX_RS_ERRORS }, false);
        const lines = errors.map(csvLine).join('');
        if (isFirst || lines !== '') sink.enqueue(text.encode(isFirst ? CSV_HEAD + lines : lines));
        isFirst = false;
        after = errors.at(-1)?.errseq ?? after;
        if (errors.length < MAX_RS_ERRORS) sink.close();
      },
    });
  }
}
