/**
 * clear.db, the database of cache clearing: whether it is the one that was served last, and sound by
 * SQLite's standards. What rails have nobody knows here: `lccrail check`, `lccrail resync`.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beginClearAnew, CLEAR_DB, CLEAR_KIND, COMMAND_BUSY_MS } from '../db/clear/open.js';
import { forgetMarks } from '../db/sqlite/marks.js';
import { isDamage, START_EMPTY, type Db } from '../db/sqlite/open.js';
import { openOwn, openOwnForReading } from '../db/sqlite/own-database.js';
import { hasVanished, wentBack } from '../db/sqlite/restored.js';
import { integrityOf } from '../db/sqlite/row-checks.js';
import { LccError, messageOf } from '../lib/errors.js';
import { holderOf, tryLock, type Lock } from '../lib/lock.js';
import { remaining, type Finding } from './types.js';

export interface ClearCheck {
  clearDir: string;
  repair: boolean;
  startEmpty: boolean;
  restored: boolean;
  nowMs: () => number;
  note: (message: string) => void;
}

const AGAIN =
  'pages that have a soft rule are published again; clear once more what was changed since, requests for it are not known';

/** @throws LccError `try.later` when a repair is asked for while a daemon runs, and as openOwn */
export function* clearDatabase(check: ClearCheck): Generator<Finding> {
  const path = join(check.clearDir, 'clear.db');
  const locks = check.repair && existsSync(check.clearDir) ? lockDaemons(check.clearDir) : [];
  try {
    yield* checked(path, check);
  } finally {
    for (const lock of locks) lock.release();
  }
}

function* checked(path: string, check: ClearCheck): Generator<Finding> {
  const { repair, startEmpty } = check;
  const vanished = hasVanished(path, CLEAR_DB);
  if (vanished !== undefined) {
    const repaired = repair && startEmpty;
    if (repaired) forgetMarks(path);
    yield { ...remaining('database', path, `${vanished}; ${START_EMPTY}`), repaired };
  }
  if (!existsSync(path)) return;
  let db: Db | undefined;
  try {
    db = (repair ? openOwn : openOwnForReading)(path, CLEAR_KIND, COMMAND_BUSY_MS);
    yield* lookAt(db, path, check);
  } catch (error) {
    const isDamaged = isDamage(error) || (error instanceof LccError && error.code === 'data.malformed');
    if (!isDamaged) throw error;
    const what =
      error instanceof LccError ? error.message : `damaged (${messageOf(error)}); ${CLEAR_KIND.remedy}`;
    yield remaining('database', path, what.replace(`${path}: `, ''));
  } finally {
    db?.close();
  }
}

function* lookAt(db: Db, path: string, check: ClearCheck): Generator<Finding> {
  const { restored, nowMs, note } = check;
  const [line] = integrityOf(db);
  if (line !== undefined) throw new LccError('data.malformed', `damaged (${line}); ${CLEAR_KIND.remedy}`);
  const old = wentBack(db, path, CLEAR_DB);
  if (old !== undefined) yield { ...remaining('database', path, old), repaired: restored };
  // Otherwise nothing of it is changed: the newer one may be put back yet.
  if (!restored) return;
  db.transaction(() => beginClearAnew(db, nowMs())).immediate();
  forgetMarks(path);
  note(`cache clearing: ${AGAIN}`);
}

/** Both daemons must be stopped. */
function lockDaemons(clearDir: string): Lock[] {
  const locks: Lock[] = [];
  for (const name of ['hard.lock', 'soft.lock']) {
    const path = join(clearDir, name);
    const lock = tryLock(path);
    if (lock !== undefined) {
      locks.push(lock);
      continue;
    }
    for (const one of locks) one.release();
    throw new LccError('try.later', `${path}: held by ${holderOf(path)}; stop that one before a repair`);
  }
  return locks;
}
