/** Copies of a database that are put back. */
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Lcc } from './lcc.js';

/** Puts `backup.db` in the place of the database, as lcc(7) says. */
export function restore(lcc: Lcc): void {
  for (const suffix of ['-wal', '-shm']) rmSync(join(lcc.home, `lcc.db${suffix}`), { force: true });
  copyFileSync(join(lcc.home, 'backup.db'), join(lcc.home, 'lcc.db'));
}
