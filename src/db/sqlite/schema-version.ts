/**
 * Versions of a schema, kept in SQLite's `user_version`. Step 0 makes a new database at version 1; step n brings version n
 * to n + 1, once a release has needed one. A database of a newer LCC is refused.
 */
import { LccError } from '../../lib/errors.js';
import type { Db } from '../../lib/sqlite.js';
import { step } from '../../lib/steps.js';

/** Brings a database to the last version. @param made called inside the transaction that makes a new one @throws as `versionOf` */
export function upgrade(db: Db, path: string, steps: readonly string[], made: () => void): void {
  if (versionOf(db, path, steps) === steps.length) return;
  const isUpgraded = db.transaction(() => {
    // Another process may have done so while this one waited for the lock.
    const from = versionOf(db, path, steps);
    for (const sql of steps.slice(from)) {
      db.exec(sql);
      if (from > 0) step('db.upgrade.made');
    }
    if (from === 0) made();
    db.pragma(`user_version = ${steps.length}`);
    return from > 0;
  });
  if (isUpgraded.immediate()) step('db.upgrade.committed');
}

/** The version of a database, 0 where nothing is in it. @throws LccError `config` when a newer LCC wrote it; SQLITE_CORRUPT */
export function versionOf(db: Db, path: string, steps: readonly string[]): number {
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version > steps.length)
    throw new LccError(
      'config',
      `${path}: schema ${version} was written by a newer LCC (this one knows ${steps.length}); use that one`,
    );
  if (version < 0)
    throw Object.assign(new Error(`damaged: user_version is ${version}`), { code: 'SQLITE_CORRUPT' });
  return version;
}
