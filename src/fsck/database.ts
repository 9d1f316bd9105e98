/** The database as SQLite itself checks it; one that is damaged is set aside and replaced by a repair. */
import { isDamage, openDatabase, openReadOnly, type Db } from '../db/sqlite/open.js';
import { integrityOf } from '../db/sqlite/row-checks.js';
import { canSalvage, NO_PROVIDER, openOrSalvage } from '../db/sqlite/salvage.js';
import { suspectDatabase } from '../db/sqlite/suspicion.js';
import { LccError, messageOf } from '../lib/errors.js';
import { silentLog, type LogFields } from '../lib/log.js';
import type { DatabaseOptions, Finding } from './types.js';

/** The database, sound by SQLite's own standards; what is not is set aside and replaced, where that was asked
 * for. */
export function openChecked(
  options: DatabaseOptions,
  talk: { note(message: string): void },
  report: (finding: Finding) => void,
): Db | undefined {
  const { dbPath, repair, nowMs, startEmpty, shard } = options;
  const finding = (what: string, isLost = false) => {
    report({
      kind: 'database',
      where: dbPath,
      what,
      repaired: repair,
      ...(isLost ? { remains: true as const } : {}),
    });
  };
  try {
    const db = repair ? openDatabase(dbPath) : openReadOnly(dbPath);
    const lines = integrityOf(db);
    const isLost = lines.length > 0 && !repair && !canSalvage(dbPath);
    for (const line of lines) finding(line, isLost);
    if (isLost) {
      db.close();
      finding(NO_PROVIDER, isLost);
      return undefined;
    }
    if (lines.length === 0 || !repair) return db;
    db.close();
  } catch (error) {
    if (!(error instanceof LccError && error.code === 'data.malformed') && !isDamage(error)) throw error;
    // A repair would refuse this one.
    const isLost = !repair && !canSalvage(dbPath);
    finding(isLost ? NO_PROVIDER : messageOf(error), isLost);
    if (!repair) return undefined;
  }
  suspectDatabase(dbPath);
  const note = (event: string, fields: LogFields = {}) => talk.note(noteOf(event, fields));
  const log = { ...silentLog, warn: note, error: note };
  return openOrSalvage(dbPath, nowMs(), log, { shard, fromNothing: startEmpty });
}

function noteOf(event: string, fields: LogFields): string {
  const details = Object.entries(fields).map(([key, value]) => `${key} ${String(value)}`);
  return `${event}: ${details.join(', ')}`;
}
