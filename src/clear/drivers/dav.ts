/** Web servers with WebDAV: Apache with mod_dav, nginx with its dav module. Pages are files, removed and put by name. */
import { onlyOptions } from './options.js';
import type { Driver, DriverRail } from './types.js';

export function davDriver(rail: DriverRail, makesFolders: boolean): Driver {
  onlyOptions(rail, []);
  return {
    // Never with a body: nginx answers 415 then, and removes nothing.
    clear: { ask: ([page]) => ({ method: 'DELETE', path: page?.url ?? '', headers: [], verb: 'remove' }) },
    renew: 'put',
    makesFolders,
  };
}
