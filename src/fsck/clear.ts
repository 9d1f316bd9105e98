/** clear.db, the database of cache clearing: whether it is the one that was served last, sound by SQLite's
 * standards, and agrees with itself. What rails have nobody knows here: `lccrail check`, `lccrail resync`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beginClearAnew, faultsOf, integrityOf } from '../db/clear/fsck-look.js';
import { CLEAR_DB, COMMAND_BUSY_MS, openClearDb, openClearDbForReading } from '../db/clear/open.js';
import { salvageClear } from '../db/clear/salvage.js';
import { isLeaving } from '../db/sqlite/aside.js';
import { forgetMarks } from '../db/sqlite/marks.js';
import { isDamage, START_EMPTY, type Db } from '../db/sqlite/open.js';
import { hasVanished, wentBack } from '../db/sqlite/restored.js';
import { finishSalvage } from '../db/sqlite/salvage.js';
import { LccError, messageOf } from '../lib/errors.js';
import { holderOf, tryLock, type Lock } from '../lib/lock.js';
import { silentLog, type LogFields } from '../lib/log.js';
import type { Finding } from './types.js';

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

/**
 * @throws LccError `try.later` when a repair is asked for while a daemon runs, `config` when no rail can be
 * read
 */
export function* clearDatabase(check: ClearCheck): Generator<Finding> {
  const path = join(check.clearDir, 'clear.db');
  const locks = check.repair && existsSync(check.clearDir) ? lockDaemons(check.clearDir) : [];
  try {
    if (check.repair) finishSalvage(path);
    yield* checked(path, check);
  } finally {
    for (const lock of locks) lock.release();
  }
}

function* checked(path: string, check: ClearCheck): Generator<Finding> {
  const { repair, startEmpty } = check;
  const finding = (what: string, more: Partial<Finding> = {}): Finding => ({
    kind: 'database',
    where: path,
    what,
    repaired: repair,
    ...more,
  });
  if (isLeaving(path)) yield finding('its replacement was interrupted');
  const vanished = hasVanished(path, CLEAR_DB);
  if (vanished !== undefined) {
    const repaired = repair && startEmpty;
    if (repaired) forgetMarks(path);
    yield finding(`${vanished}; ${START_EMPTY}`, { repaired, remains: true });
  }
  if (!existsSync(path)) return;
  let db: Db | undefined;
  try {
    db = open(path, repair);
    yield* lookAt(db, path, check);
  } catch (error) {
    const isDamaged = isDamage(error) || (error instanceof LccError && error.code === 'data.malformed');
    if (!isDamaged) throw error;
    db?.close();
    db = undefined;
    const what = error instanceof LccError ? error.message : `damaged (${messageOf(error)})`;
    yield* damaged(path, what, check);
  } finally {
    db?.close();
  }
}

function open(path: string, isRepair: boolean): Db {
  return isRepair ? openClearDb(path, COMMAND_BUSY_MS) : openClearDbForReading(path);
}

function* lookAt(db: Db, path: string, check: ClearCheck): Generator<Finding> {
  const { repair, restored, nowMs, note } = check;
  const [line] = integrityOf(db);
  if (line !== undefined) throw new LccError('data.malformed', `damaged (${line})`);
  const old = wentBack(db, path, CLEAR_DB);
  if (old !== undefined)
    yield { kind: 'database', where: path, what: old, repaired: restored, remains: true };
  // Nothing of it is changed: the newer one may be put back yet.
  if (old !== undefined && !restored) return;
  for (const { kind, what, mend } of faultsOf(db, nowMs())) {
    if (repair) db.transaction(mend).immediate();
    yield { kind, where: path, what, repaired: repair };
  }
  if (!restored) return;
  db.transaction(() => beginClearAnew(db, nowMs())).immediate();
  forgetMarks(path);
  note(`cache clearing: ${AGAIN}`);
}

function* damaged(path: string, what: string, check: ClearCheck): Generator<Finding> {
  const { repair, startEmpty, nowMs, note } = check;
  if (repair) {
    const say = (event: string, fields: LogFields = {}) =>
      note([event, ...Object.entries(fields).map(([key, value]) => `${key} ${String(value)}`)].join(', '));
    const aside = salvageClear(path, nowMs(), { ...silentLog, warn: say, error: say }, startEmpty);
    note(`cache clearing: what could be read is in a new database, the damaged one is ${aside}; ${AGAIN}`);
  }
  yield { kind: 'database', where: path, what, repaired: repair };
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
