/**
 * A cache of nginx without a module to purge it: a GET with a header that `proxy_cache_bypass` lets pass replaces the entry
 * in place. There is no way to only remove an entry, so that clearing a page is fetching it again, too; where the site does not
 * have it any more, its 404 takes the place of the page (`proxy_cache_valid 404 410`, see examples/clear).
 */
import { LccError } from '../../lib/errors.js';
import { onlyOptions, textOption } from './options.js';
import type { Driver, DriverRail, Way } from './types.js';

/** Answers after which the cache does not have the old page. */
const GONE_OR_FRESH = [200, 203, 204, 404, 410];

export function nginxRefreshDriver(rail: DriverRail): Driver {
  onlyOptions(rail, ['header', 'value']);
  const header = textOption(rail.name, rail.opts, 'header', 'x-lcc-refresh').toLowerCase();
  if (!/^[\w-]+$/.test(header))
    throw new LccError('usage', `rail ${rail.name}: option header: no name of a header`);
  const value = textOption(rail.name, rail.opts, 'value', '1');
  const way = (done?: readonly number[]): Way => ({
    ask: ([page]) => ({
      method: 'GET',
      path: page?.url ?? '',
      headers: [header, value],
      verb: 'refresh',
      ...(done !== undefined && { done }),
    }),
  });
  return { clear: way(GONE_OR_FRESH), renew: way(), isByHost: true, makesFolders: false };
}
