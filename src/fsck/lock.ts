/** The lock against a start of the LCC: a repair holds it, and is refused while the LCC runs. */
import { LccError } from '../lib/errors.js';
import { holderOf, isLocked, tryLock, type Lock } from '../lib/lock.js';
import { isOnReadOnlyDisk } from '../lib/sqlite-read.js';

/** @throws LccError `try.later` when something has the database open */
export function lockQueue(dbPath: string): Lock {
  const lock = tryLock(`${dbPath}.lock`);
  if (lock === undefined) {
    const holder = holderOf(`${dbPath}.lock`);
    const what = holder.startsWith('lccd') ? 'lccd' : 'that';
    throw new LccError('try.later', `${dbPath}: ${holder} has it open; stop ${what} before a repair`);
  }
  return lock;
}

/** True if the Queue Manager runs. */
export function isServed(dbPath: string): boolean {
  // Nobody can take a lock on a disk that is read-only from here, nor ask for it.
  return !isOnReadOnlyDisk(dbPath) && isLocked(`${dbPath}.lock`);
}
