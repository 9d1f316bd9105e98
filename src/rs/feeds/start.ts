/** Feeds of lccd-rs put together: polling, hubs, what hubs and weblogs call, the list of them. */
import { join } from 'node:path';
import type { Services } from '../../daemon/types.js';
import type { RsDatabase } from '../../db/rs/database.js';
import { urlBelow, type RsOptions } from '../options.js';
import { FeedBook } from './book.js';
import { HubClient, hubKey } from './hub.js';
import { FeedPolling, type FeedPollingOptions } from './polling.js';
import { FeedThread } from './feed-thread.js';

export function feedsOf(
  services: Services,
  options: RsOptions,
  db: RsDatabase,
  surroundings: Pick<FeedPollingOptions, 'targetOf' | 'isGone' | 'pushed'>,
) {
  const { home, clock, log } = services;
  const fail = (error: unknown) => services.fail(error);
  const nowMs = () => clock.nowMs();
  const { userAgent, allowAddresses, ports } = options.proof;
  const key = hubKey(join(home.rs, 'websub.key'));
  const reader = new FeedThread(clock);
  const asked = { db, site: { clock, userAgent, allowAddresses }, ports };
  const callbacks = urlBelow(options.url, 'websub/');
  const hubs = new HubClient({ ...asked, nowMs, key, callbacks });
  const polling = new FeedPolling({ ...asked, clock, log, reader, hubs, ...surroundings, fail });
  const book = new FeedBook({ db, nowMs, options, changed: () => polling.stir() });
  return { key, polling, book };
}
