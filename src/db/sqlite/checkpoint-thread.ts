/** The thread behind Checkpoints: moves what the log of a database holds into the database itself, when told
 * to. */
import { openSqlite } from '../../lib/sqlite.js';
import { serveThread } from '../../lib/thread.js';

/** Serves the thread's owner until ended. */
export function serveCheckpoints(): void {
  serveThread((path: string) => () => checkpoint(path));
}

/** With a connection of its own each time: one that stayed open would keep the log there when its owner
 * closes. */
function checkpoint(path: string): void {
  const db = openSqlite(path, { fileMustExist: true });
  try {
    db.pragma('synchronous = FULL');
    db.pragma('wal_checkpoint(PASSIVE)');
  } finally {
    db.close();
  }
}
