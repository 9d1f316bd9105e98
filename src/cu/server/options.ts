/** Settings of the server. */
import { join } from 'node:path';
import { xmlLimitsOf } from '../../config/limits.js';
import type { Settings } from '../../config/settings/index.js';
import type { Home } from '../../config/home.js';
import type { Services } from '../../daemon/types.js';
import { AccountFile } from '../../lib/account-file.js';

/** Files besides the connections: the database, content being sent, the log. */
const KEPT_FILES = 100;

export type CuOptions = ReturnType<typeof cuOptions>;

/**
 * @param openFiles how many files the process may have open: each connection may have two, itself and content
 */
export function cuOptions({ home, settings }: Pick<Services, 'home' | 'settings'>, openFiles: number) {
  const { cu, bm, xml } = settings;
  const most = Math.floor((openFiles - KEPT_FILES) / 2);
  return {
    dbPath: home.db,
    storeDir: home.store,
    /** Machine whose content is local. */
    machineId: bm.machineId,
    readers: readersOf(home, cu),
    /** True if clients over TCP and TLS need no credentials. */
    anonymous: cu.anonymous,
    xml: xmlLimitsOf(xml),
    /** Base path of the change feed, without a slash at its end. */
    httpBase: cu.url === '' ? '' : new URL(cu.url).pathname.replace(/\/+$/, ''),
    maxTextBytes: cu.maxTextBytes,
    limits: { ...cu, maxConnections: Math.max(1, Math.min(cu.maxConnections, most)) },
  };
}

/** Who may read over the network. */
export function readersOf(home: Home, { readersFile }: Settings['cu']): AccountFile {
  return new AccountFile(readersFile || join(home.dir, 'readers'), { one: 'reader', madeBy: '--add-reader' });
}
