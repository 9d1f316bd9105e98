/** Settings of the server. */
import { join } from 'node:path';
import { xmlLimitsOf } from '../../config/limits.js';
import { limitIn, type NumberKey, type Settings } from '../../config/settings/index.js';
import type { Home } from '../../config/home.js';
import type { Services } from '../../daemon/types.js';
import { AccountFile } from '../../lib/account-file.js';
import type { XmlLimits } from '../../lib/xml/types.js';

/** Files besides the connections: the database, content being sent, the log. */
const KEPT_FILES = 100;

export type CuLimit = Extract<NumberKey, `cu.${string}`>;

export interface CuOptions {
  dbPath: string;
  storeDir: string;
  /** Machine whose content is local. */
  machineId: string;
  readers: AccountFile;
  /** True if clients over TCP and TLS need no credentials. */
  anonymous: boolean;
  xml: XmlLimits;
  /** Base path of the change feed, without a slash at its end. */
  httpBase: string;
  maxTextBytes: number;
  limits: Settings['cu'];
}

/**
 * @param openFiles how many files the process may have open: each connection may have two, itself and content
 */
export function cuOptions(
  { home, settings }: Pick<Services, 'home' | 'settings'>,
  openFiles: number,
): CuOptions {
  const { cu, bm, xml } = settings;
  const most = Math.floor((openFiles - KEPT_FILES) / 2);
  return {
    dbPath: home.db,
    storeDir: home.store,
    machineId: bm.machineId,
    readers: readersOf(home, cu),
    anonymous: cu.anonymous,
    xml: xmlLimitsOf(xml),
    httpBase: cu.url === '' ? '' : new URL(cu.url).pathname.replace(/\/+$/, ''),
    maxTextBytes: cu.maxTextBytes,
    limits: { ...cu, maxConnections: Math.max(1, Math.min(cu.maxConnections, most)) },
  };
}

/** Who may read over the network. */
export function readersOf(home: Home, { readersFile }: Settings['cu']): AccountFile {
  return new AccountFile(readersFile || join(home.dir, 'readers'), { one: 'reader', madeBy: '--add-reader' });
}

/** `32 (cu.max_connections_per_address)`: a limit as a refusal names it. */
export function limitOf({ limits }: CuOptions, key: CuLimit): string {
  return limitIn({ cu: limits }, key);
}
