/** The thread behind Checkpoints: moves what the log of a database holds into the database itself, when told to. */
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../lib/errors.js';
import { openSqlite, type Db } from '../../lib/sqlite.js';
import type { CheckpointAnswer } from './checkpoints.js';

/* oxlint-disable unicorn/require-post-message-target-origin -- a thread has no origin */

/** Serves the thread's owner until ended. */
export function serveCheckpoints(): void {
  const path = String(workerData);
  parentPort?.on('message', () => parentPort?.postMessage(checkpoint(path)));
}

/** With a connection of its own each time: one that stayed open would keep the log there when its owner closes. */
function checkpoint(path: string): CheckpointAnswer {
  let db: Db | undefined;
  try {
    db = openSqlite(path, { fileMustExist: true });
    db.pragma('synchronous = FULL');
    db.pragma('wal_checkpoint(PASSIVE)');
    return {};
  } catch (error) {
    return { error: messageOf(error) };
  } finally {
    db?.close();
  }
}
