/** The small database of the UNSes, below their spools: whether SQLite finds it sound. */
import { basename, join } from 'node:path';
import { SESSIONS_DB } from '../db/spools/sessions.js';
import { damageOf, setDamagedAside } from '../db/spools/spool-database.js';
import type { CheckContext, Finding } from './types.js';

export function* spoolDatabases({ unsSpoolDir, repairs }: CheckContext): Generator<Finding> {
  const { file, table, afterLoss } = SESSIONS_DB;
  const path = join(unsSpoolDir, file);
  const damage = damageOf(path, table);
  if (damage === undefined) return;
  const where = `spool/uns/${file}`;
  if (repairs === undefined) {
    const what = `damaged (${damage}); lccd-uns sets it aside when it starts: ${afterLoss}`;
    yield { kind: 'spool', where, what, repaired: false };
  } else {
    const aside = basename(setDamagedAside(path));
    const what = `damaged (${damage}); set aside as ${aside}, lccd-uns creates it again: ${afterLoss}`;
    yield { kind: 'spool', where, what, repaired: true };
  }
}
