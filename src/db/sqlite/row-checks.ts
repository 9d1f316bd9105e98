/**
 * Damage that SQLite does not notice as it reads: a flipped bit in the header of a row makes a text a blob,
 * or NULL. Where a row enters the program its values are looked at, and what cannot be is refused as SQLite
 * refuses damage: the Queue Manager ends, and its next start checks the whole database (suspicion.ts).
 */
import type { Db } from '../../lib/sqlite.js';

/** As SQLite reports a damaged table. */
export function corrupt(message: string): Error {
  return Object.assign(new Error(message), { code: 'SQLITE_CORRUPT' });
}

/**
 * Looks at all pages of a database, which takes a second for some hundred megabytes. @throws SQLITE_CORRUPT
 * and its like
 */
export function requireSound(db: Db): void {
  const found = String(db.pragma('quick_check(1)', { simple: true }));
  if (found !== 'ok') throw corrupt(found);
}

export function isText(value: unknown): boolean {
  return typeof value === 'string';
}

export function isTextOrNull(value: unknown): boolean {
  return typeof value === 'string' || value === null;
}

export function isInteger(value: unknown): boolean {
  return Number.isSafeInteger(value);
}

export function isIntegerOrNull(value: unknown): boolean {
  return value === null || Number.isSafeInteger(value);
}
