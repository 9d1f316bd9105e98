/** What the server must be told: plain values, taken from the settings in one place. */
import { join } from 'node:path';
import { xmlLimitsOf } from '../../config/limits.js';
import type { Config } from '../../config/load.js';
import { limitText, type SettingKey } from '../../config/settings/index.js';
import { AccountFile } from '../../lib/account-file.js';
import type { XmlLimits } from '../../lib/xml/types.js';

const LIMITS = [
  'cu.max_connections',
  'cu.max_connections_per_address',
  'cu.query_timeout_ms',
  'cu.stall_timeout_ms',
  'cu.answer_timeout_ms',
  'cu.max_query_bytes',
] as const satisfies readonly SettingKey[];
export type CuLimit = (typeof LIMITS)[number];

/** Files besides the connections: the database, content being sent, the log. */
const KEPT_FILES = 100;

export interface CuOptions {
  dbPath: string;
  storeDir: string;
  /** Machine whose content is local. */
  machineId: string;
  readers: AccountFile;
  /** Whether clients over TCP and TLS need no credentials. */
  anonymous: boolean;
  xml: XmlLimits;
  limits: Readonly<Record<CuLimit, number>>;
}

/** @param openFiles how many files the process may have open: each connection may have two, itself and content */
export function cuOptions(config: Config, openFiles: number): CuOptions {
  const limits = Object.fromEntries(LIMITS.map(key => [key, config.get(key)])) as Record<CuLimit, number>;
  const most = Math.floor((openFiles - KEPT_FILES) / 2);
  limits['cu.max_connections'] = Math.max(1, Math.min(limits['cu.max_connections'], most));
  return {
    dbPath: config.home.db,
    storeDir: config.home.store,
    machineId: config.get('bm.machine_id'),
    readers: readersOf(config),
    anonymous: config.get('cu.anonymous'),
    xml: xmlLimitsOf(config),
    limits,
  };
}

/** Who may read over the network. */
export function readersOf(config: Config): AccountFile {
  const path = config.get('cu.readers_file') || join(config.home.dir, 'readers');
  return new AccountFile(path, { one: 'reader', madeBy: '--add-reader' });
}

/** `32 (cu.max_connections_per_address)`: a limit as a refusal names it. */
export function limitOf(options: CuOptions, key: CuLimit): string {
  return limitText(key, options.limits[key]);
}
