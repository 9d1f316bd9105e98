/** The pages that everybody may open, and those of providers, put together. */
import type { Account } from '../account.js';
import type { ProviderViewOptions } from '../me.js';
import type { RunningMail } from '../mail/start.js';
import type { RsOptions } from '../options.js';
import type { WebSessions } from '../sessions.js';
import { applicantPages, type ApplicantOptions } from './applicants.js';
import { loginPages } from './login.js';
import { mailPages } from './mail.js';
import { ME_NAV, mePages, type MeOptions } from './me.js';
import type { PairSecrets } from './pair.js';
import { QmAnswers } from './qm-answers.js';
import { SessionCookie } from './session-gate.js';
import { ShownOnce } from './shown-once.js';
import { installStep, servePackages, sitePackages } from './site-packages.js';
import { shellOf, type ShellOptions } from './shell.js';

export interface PagesOptions
  extends Pick<ShellOptions, 'maxBodyBytes' | 'failed'>, Pick<ApplicantOptions, 'registrar' | 'clock'> {
  sessions: WebSessions;
  account: Account;
  hoursOf: MeOptions['hoursOf'];
  moreRootsOf: MeOptions['moreRootsOf'];
  pushes: MeOptions['pushes'];
  feeds: MeOptions['feeds'];
  mail: Pick<RunningMail, 'mailing' | 'forgotten'>;
  /** Where providers are looked up. */
  view: ProviderViewOptions;
  options: ApplicantOptions['options'] & MeOptions['options'] & Pick<RsOptions, 'url' | 'contact'>;
}

const OUT = [
  { path: '/register', label: 'Register a site' },
  { path: '/login', label: 'Log in' },
];

export function pagesOf(parts: PagesOptions) {
  const { options, clock, sessions, view, account } = parts;
  const { url, contact } = options;
  const { maxBodyBytes, failed } = parts;
  const shell = shellOf({ url, contact, nav: { out: OUT, in: ME_NAV }, maxBodyBytes, failed });
  const { app, page, base } = shell;
  const packages = sitePackages();
  const install = installStep(url, packages);
  servePackages(app, packages, clock);
  const cookie = new SessionCookie('provider', url);
  app.route('/', loginPages({ sessions, cookie, account, view, options, base, page }));
  const pairSecrets = new ShownOnce<PairSecrets>(clock);
  const { mailing } = parts.mail;
  const [qm, { door }] = [new QmAnswers(view.ask), view];
  app.route('/me', mePages({ ...parts, qm, door, mailing, cookie, pairSecrets, install, base, page }));
  app.route('/', mailPages({ ...parts, ...parts.mail, pairSecrets, base, page }));
  app.route(
    '/',
    applicantPages({
      ...parts,
      pairSecrets,
      install,
      addressOf: id => parts.mail.mailing.standingOf(id),
      base,
      page,
    }),
  );
  shell.seal();
  return { app, onError: shell.onError };
}
