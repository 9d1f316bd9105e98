/** Parts that the pages are made of. */
import type { RsDatabase } from '../../db/rs/database.js';
import type { Clock } from '../../lib/clock.js';
import type { Account } from '../account.js';
import type { FeedBook } from '../feeds/book.js';
import type { Mailing } from '../mail/mailing.js';
import type { RunningMail } from '../mail/start.js';
import type { ProviderViewOptions } from '../me.js';
import type { RsOptions } from '../options.js';
import type { PushRefusals } from '../push/refusals.js';
import type { Registrar } from '../registrar.js';
import type { WebSessions } from '../sessions.js';
import type { Markup, PageMaker } from './layout.js';
import type { PairSecrets } from './pair.js';
import type { SessionCookie } from './session-gate.js';
import type { ShellOptions } from './shell.js';
import type { ShownOnce } from './shown-once.js';

/** Parts of the Registration Server. */
export interface PagesOptions extends Pick<ShellOptions, 'failed'> {
  registrar: Registrar;
  account: Account;
  sessions: WebSessions;
  mail: Pick<RunningMail, 'mailing' | 'forgotten'>;
  feeds: FeedBook;
  /** Where providers are looked up. */
  view: ProviderViewOptions;
  db: Pick<RsDatabase, 'providers' | 'registrations' | 'push'>;
  refusals: Pick<PushRefusals, 'flush'>;
  options: RsOptions;
  clock: Clock;
}

/** Parts of each page. */
export interface PageParts extends PagesOptions {
  mailing: Mailing;
  cookie: SessionCookie;
  /** Where the page of a pair finds what is shown once. */
  pairSecrets: ShownOnce<PairSecrets>;
  /** How the commands are installed. */
  install: Markup;
  base: string;
  page: PageMaker;
}
