/** The pages that everybody may open, and those of providers, put together. */
import type { Clock } from '../../lib/clock.js';
import { LoginGuard } from '../login-guard.js';
import type { ProviderViewOptions } from '../me.js';
import type { RsOptions } from '../options.js';
import type { Registrar } from '../registrar.js';
import type { Sessions } from '../sessions.js';
import { applicantPages } from './applicants.js';
import { loginPages } from './login.js';
import { mePages } from './me.js';
import { SessionCookie } from './session-gate.js';
import { shellOf, type ShellOptions } from './shell.js';

export interface PagesOptions extends Pick<ShellOptions, 'maxBodyBytes' | 'failed'> {
  registrar: Pick<Registrar, 'issue' | 'find' | 'check' | 'cancel'>;
  sessions: Sessions;
  /** Where providers are looked up. */
  view: ProviderViewOptions;
  options: Pick<
    RsOptions,
    'url' | 'uns' | 'contact' | 'mode' | 'proxies' | 'limits' | 'first' | 'slots' | 'wrongLogins'
  >;
  clock: Clock;
  /** Resolves after a time, or when what is waited for is over. */
  within: (over: Promise<void>, delayMs: number) => Promise<void>;
}

const OUT = [
  { path: '/register', label: 'Register a site' },
  { path: '/login', label: 'Log in' },
];
const IN = [{ path: '/me', label: 'Overview' }];

export function pagesOf(parts: PagesOptions) {
  const { options, clock, sessions, view } = parts;
  const { url, contact, wrongLogins } = options;
  const { maxBodyBytes, failed } = parts;
  const shell = shellOf({ url, contact, nav: { out: OUT, in: IN }, maxBodyBytes, failed });
  const { app, page, base } = shell;
  const cookie = new SessionCookie('provider', url);
  const guard = new LoginGuard(clock, wrongLogins);
  app.route('/', loginPages({ sessions, cookie, guard, view, options, base, page }));
  app.route('/me', mePages({ sessions, cookie, view, options, clock, base, page }));
  app.route('/', applicantPages({ ...parts, base, page }));
  shell.seal();
  return app;
}
