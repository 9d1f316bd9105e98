/** A line in the log for each row of the audit, by either writer: this process as soon as it is committed,
 * lccrs when its commit is seen. */
import type { RsDatabase } from '../db/rs/database.js';
import type { Log } from '../lib/log.js';

const AT_A_TIME = 1000;

/** @returns logs what has come since the last time */
export function logAudit({ audit }: Pick<RsDatabase, 'audit'>, log: Pick<Log, 'info'>): () => void {
  let lastId = audit.lastId();
  return () => {
    for (;;) {
      const rows = audit.after(lastId, AT_A_TIME);
      for (const { id, event, registration, pid, by, detail } of rows) {
        lastId = id;
        log.info(event, {
          audit: id,
          by,
          ...(registration !== null && { registration }),
          ...(pid !== null && { pid }),
          ...(detail !== '' && { detail }),
        });
      }
      if (rows.length < AT_A_TIME) return;
    }
  };
}
