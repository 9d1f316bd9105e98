/**
 * A cache of nginx without a module to purge it: a GET with a header that `proxy_cache_bypass` lets pass
 * replaces the entry in place. There is no way to only remove an entry, so that clearing a page is fetching
 * it again, too. What the site answers instead of a page, that it is gone, has moved or is for others no
 * more, takes its place where `proxy_cache_valid` names it (examples/clear); whether it has is seen by what
 * readers get.
 */
import { headerOption, onlyOptions, textOption } from './options.js';
import type { Driver, DriverRail, Way } from './types.js';

/** Answers that are no page: the page has moved, or is not for everybody any more; and, of one that is
 * cleared, is gone. */
const NO_PAGE = [301, 302, 303, 307, 308, 401, 403];
const GONE = [404, 410];

export function nginxRefreshDriver(rail: DriverRail): Driver {
  onlyOptions(rail, ['header', 'value']);
  const header = headerOption(rail, 'x-lcc-refresh');
  const value = textOption(rail, 'value', '1');
  const way = (statuses: readonly number[]): Way => ({
    ask: ([page]) => ({
      method: 'GET',
      path: page?.url ?? '',
      headers: [header, value],
      verb: 'refresh',
      asReaders: { statuses, headers: [] },
    }),
  });
  return { clear: way([...NO_PAGE, ...GONE]), renew: way(NO_PAGE), isByHost: true, makesFolders: false };
}
