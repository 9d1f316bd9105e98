/** The pages that everybody may open, and those of providers, put together. */
import { applicantPages } from './applicants.js';
import { loginPages } from './login.js';
import { mailPages } from './mail.js';
import { ME_NAV, mePages } from './me.js';
import type { PairSecrets } from './pair.js';
import type { PageParts, PagesOptions } from './parts.js';
import { SessionCookie } from './session-gate.js';
import { ShownOnce } from './shown-once.js';
import { installStep, servePackages, sitePackages } from './site-packages.js';
import { shellOf } from './shell.js';

const OUT = [
  { path: '/register', label: 'Register a site' },
  { path: '/login', label: 'Log in' },
];

export function pagesOf(options: PagesOptions) {
  const { clock, mail, failed } = options;
  const { url, contact } = options.options;
  const shell = shellOf({ url, contact, nav: { out: OUT, in: ME_NAV }, failed });
  const { app, page, base } = shell;
  const packages = sitePackages();
  servePackages(app, packages, clock);
  const parts: PageParts = {
    ...options,
    mailing: mail.mailing,
    cookie: new SessionCookie('provider', url),
    pairSecrets: new ShownOnce<PairSecrets>(clock),
    install: installStep(url, packages),
    base,
    page,
  };
  app.route('/', loginPages(parts));
  app.route('/me', mePages(parts));
  app.route('/', mailPages(parts));
  app.route('/', applicantPages(parts));
  shell.seal();
  return { app, onError: shell.onError };
}
