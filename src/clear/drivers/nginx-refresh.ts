/**
 * A cache of nginx without a module to purge it: a GET with a header that `proxy_cache_bypass` lets pass replaces the entry
 * in place. There is no way to only remove an entry, so that clearing a page is fetching it again, too.
 */
import { LccError } from '../../lib/errors.js';
import { onlyOptions, textOption } from './options.js';
import type { Driver, DriverRail, Way } from './types.js';

export function nginxRefreshDriver(rail: DriverRail): Driver {
  onlyOptions(rail, ['header', 'value']);
  const header = textOption(rail.name, rail.opts, 'header', 'x-lcc-refresh').toLowerCase();
  if (!/^[\w-]+$/.test(header))
    throw new LccError('usage', `rail ${rail.name}: option header: no name of a header`);
  const value = textOption(rail.name, rail.opts, 'value', '1');
  const host = rail.host === undefined ? [] : ['host', rail.host];
  const way: Way = {
    ask: ([page]) => ({
      method: 'GET',
      path: page?.url ?? '',
      headers: [...host, header, value],
      verb: 'refresh',
    }),
  };
  return { clear: way, renew: way, makesFolders: false };
}
