/** Providers whose rows are changed as damage changes them: no trigger notices. */
import type { Db } from '../../src/db/open.js';

/** Runs SQL on what is kept of providers; their checksums stay as they were. */
export function damageProviders(db: Db, sql: string): void {
  const sums = db.prepare('SELECT pid, sum FROM pidbsum').raw().all() as [number, number][];
  db.exec(sql);
  const put = db.prepare<[number, number]>('INSERT OR REPLACE INTO pidbsum VALUES (?, ?)');
  for (const [pid, sum] of sums) put.run(pid, sum);
}
