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

/** Lines of PRAGMA integrity_check that are reported; damage seldom comes alone. */
const MAX_INTEGRITY_LINES = 20;

/** Faults of a database and its indexes that SQLite finds by itself. @throws SQLITE_CORRUPT and its like */
export function integrityOf(db: Db): string[] {
  const lines = db.pragma(`integrity_check(${MAX_INTEGRITY_LINES})`) as { integrity_check: string }[];
  return lines.map(line => line.integrity_check).filter(line => line !== 'ok');
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

type Check = (value: unknown) => boolean;

/**
 * Makes a function that makes objects of raw rows, with their values in the order of `checks`. Objects that
 * come from SQLite itself are slow to read.
 * @param wrong says what is wrong with the value of a column; it is thrown as SQLite throws damage
 */
export function rowReader<Row>(
  checks: Readonly<Record<keyof Row & string, Check>>,
  wrong: (raw: readonly unknown[], column: string) => string,
): (raw: readonly unknown[]) => Row {
  const columns = Object.entries<Check>(checks);
  // All of them, so that copies share one hidden class.
  const template = Object.fromEntries(columns.map(([column]) => [column, null]));
  return raw => {
    const row: Record<string, unknown> = { ...template };
    columns.forEach(([column, isRight], at) => {
      if (!isRight(raw[at])) throw corrupt(wrong(raw, column));
      row[column] = raw[at];
    });
    return row as Row;
  };
}
