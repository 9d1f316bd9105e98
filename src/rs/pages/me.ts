/** What a provider sees of itself, `/me` and below. */
import { Hono } from 'hono';
import type { ProviderViewOptions } from '../me.js';
import type { RsOptions } from '../options.js';
import type { WebSessions } from '../sessions.js';
import type { Clock } from '../../lib/clock.js';
import type { PageMaker } from './layout.js';
import { toLoginFrom } from './login.js';
import { overview } from './me-overview.js';
import { providerGate, type ProviderEnv } from './provider-gate.js';
import { sessionGate, type SessionCookie } from './session-gate.js';

export interface MeOptions {
  sessions: WebSessions;
  cookie: SessionCookie;
  view: ProviderViewOptions;
  options: Pick<RsOptions, 'uns' | 'slots'>;
  clock: Pick<Clock, 'nowMs'>;
  base: string;
  page: PageMaker;
}

export function mePages({ sessions, cookie, view, options, clock, base, page }: MeOptions) {
  const pages = new Hono<ProviderEnv>({ strict: false });
  pages.use(sessionGate('provider', sessions, cookie, c => toLoginFrom(base, c)));
  pages.use(providerGate(sessions, cookie, view.ask, `${base}/login`));
  pages.get('/', c => {
    const { provider, session } = c.var;
    const login = { account: `Provider ${provider.pid}`, formToken: session.formToken };
    const body = overview({ provider, ...options, nowMs: clock.nowMs() });
    return c.html(page({ title: 'Overview', here: '/me', login, body }));
  });
  return pages;
}
