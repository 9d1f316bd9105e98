/** Parts of a home that are kept in an engine (lcc-cluster(7)), and their files below the home. */
import { join } from 'node:path';

const KEPT = { lcc: 'lcc.db', rs: 'rs/rs.db', clear: 'clear/clear.db' } as const;

export type KeptName = keyof typeof KEPT;
export const KEPT_NAMES = Object.keys(KEPT) as readonly KeptName[];

/** The file of logins for sites, beside lcc.db: in the engine a row of its own. */
export const LOGINS = 'logins';
export type LedgerName = KeptName | typeof LOGINS;
export const LEDGER_NAMES: readonly LedgerName[] = [...KEPT_NAMES, LOGINS];

export function isKeptName(name: string): name is KeptName {
  return Object.hasOwn(KEPT, name);
}

/** @param dir of the home */
export function keptPath(dir: string, name: KeptName): string {
  return join(dir, KEPT[name]);
}

/** Defaults that are others in a kept home: another machine takes it over only after robots have given up. */
export const KEPT_DEFAULTS: Readonly<Record<string, number>> = { 'wire.ping_interval_ms': 1000 };
