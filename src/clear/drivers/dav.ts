/** Web servers with WebDAV: Apache with mod_dav, nginx with its dav module. Pages are files, removed and put
 * by name. */
import { onlyOptions } from './options.js';
import type { Driver, DriverRail } from './types.js';

export function davDriver(rail: DriverRail, makesFolders: boolean): Driver {
  onlyOptions(rail, []);
  return {
    // Never with a body: nginx answers 415 then, and removes nothing. Depth: a page is a file; Apache removes
    // a folder of that name, with all that is in it, unless it is told not to.
    clear: {
      ask: ([page]) => ({
        method: 'DELETE',
        path: page?.url ?? '',
        headers: ['depth', '0'],
        verb: 'remove',
        isOfFile: true,
      }),
    },
    renew: 'put',
    makesFolders,
  };
}
