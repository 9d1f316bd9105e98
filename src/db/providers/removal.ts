/** A provider is removed: by itself when nothing is held of it, else with all of that by the Queue Manager
 * (departures.ts). */
import { amount } from '../../config/words.js';
import { LccError } from '../../lib/errors.js';
import type { Db } from '../sqlite/open.js';
import { Sql } from '../sqlite/sql-store.js';
import { SiteLogins } from './site-logins.js';

/** Tables about a provider besides its content, which have no use when it has left. */
export const TABLES_OF_PROVIDER = [
  'held',
  'pierr',
  'proots',
  'givenroot',
  'qpsdb',
  'sitelogin',
  'known',
  'truth',
  'pushday',
  'audit',
  'failure',
  'qfolder',
] as const;

/**
 * Forgets a provider that the LCC holds nothing of.
 * @throws LccError `usage` for an unknown pid, or while content or queued urls of it remain
 */
export function removeProvider(db: Db, pid: number): void {
  db.transaction(() => {
    const { stored, queued } = contentOf(db, pid);
    if (stored + queued > 0) {
      throw new LccError(
        'usage',
        `provider ${pid} still has ${amount(stored, 'url')} stored and ${queued} queued; lccpidb rm --pid=${pid} --purge removes them as well`,
      );
    }
    for (const table of [...TABLES_OF_PROVIDER, 'pidb'])
      db.prepare(`DELETE FROM ${table} WHERE pid = ?`).run(pid);
    new SiteLogins(db).set(pid, undefined);
  }).immediate();
}

/** Urls of a provider, as rows. @throws LccError `usage` for an unknown pid */
export function contentOf(db: Db, pid: number): { stored: number; queued: number } {
  const count = (table: string) =>
    new Sql(db).number<[pid: number]>(`SELECT count(*) FROM ${table} WHERE pid = ?`)(pid);
  if (count('pidb') === 0) throw new LccError('usage', `no provider ${pid}; see lccpidb list`);
  return { stored: count('lccurl'), queued: count('queued') };
}

/**
 * From now on it is disabled, and leaves: the Queue Manager removes all that it has, and then the provider.
 */
export function purgeProvider(db: Db, pid: number, nowS: number): void {
  const leave = new Sql(db).run<[nowS: number, pid: number]>(
    `UPDATE pidb SET leaveat = ?, leaveenabled = iif(leaveat IS NULL, enabled, leaveenabled), enabled = 0 WHERE pid = ?`,
  );
  db.transaction(() => leave(nowS, pid)).immediate();
}
