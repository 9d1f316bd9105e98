/**
 * A database that showed damage while it was read is suspected: the next opening looks at all of it. A check
 * that finds nothing clears it, but must not let a Queue Manager meet the same damage for ever: suspected
 * again within a day, it is not believed.
 */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { writeFileDurably } from '../../lib/durable.js';
import { errnoOf, LccError } from '../../lib/errors.js';
import { isDamage, type Db } from './open.js';

/** Found damaged again so soon after the check had found nothing, a database is not believed. */
const BELIEVED_MS = 24 * 3600 * 1000;

/** Notes that reading the database showed damage: the next opening looks at all of it. */
export function suspectDatabase(path: string): void {
  const note = `${path} showed damage: it is checked whole at the next start of lccd; lccd-qm(8) has more\n`;
  writeFileDurably(suspectOf(path), note);
}

/** Suspects the database when what ended its Queue Manager cannot come from a sound one. */
export function noteFailure(path: string, error: unknown): void {
  const cause = error instanceof LccError ? error.cause : error;
  if (isDamage(cause) || errnoOf(cause)?.startsWith('SQLITE_CONSTRAINT')) suspectDatabase(path);
}

/** True if the database can be used: it is not suspected, or the check that clears it now finds nothing. */
export function isTrusted(db: Db, path: string, nowMs: number): boolean {
  if (!existsSync(suspectOf(path))) return true;
  if (wasCleared(path, nowMs) || !isSound(db)) return false;
  renameSync(suspectOf(path), clearedOf(path));
  return true;
}

/** The database has left, and with it what was noted of it. */
export function forgetSuspicion(path: string): void {
  for (const note of [suspectOf(path), clearedOf(path)]) rmSync(note, { force: true });
}

function wasCleared(path: string, nowMs: number): boolean {
  const cleared = statSync(clearedOf(path), { throwIfNoEntry: false });
  return cleared !== undefined && Math.abs(nowMs - cleared.mtimeMs) < BELIEVED_MS;
}

function isSound(db: Db): boolean {
  try {
    return db.pragma('integrity_check(1)', { simple: true }) === 'ok';
  } catch {
    return false;
  }
}

const suspectOf = (path: string) => `${path}.suspect`;
const clearedOf = (path: string) => `${path}.cleared`;
