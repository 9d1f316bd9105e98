/** The small database of the UNSes, below their spools: whether SQLite finds it sound. */
import { join } from 'node:path';
import { checkSessions } from '../db/spools/sessions.js';
import { LccError } from '../lib/errors.js';
import { whatIsWrong } from './names-database.js';
import type { CheckContext, Finding } from './types.js';

export function* spoolDatabases({ unsSpoolDir }: CheckContext): Generator<Finding> {
  const path = join(unsSpoolDir, 'sessions.db');
  try {
    checkSessions(path);
  } catch (error) {
    if (!(error instanceof LccError) || error.code !== 'data.malformed') throw error;
    const what = whatIsWrong(path, error);
    yield { kind: 'spool', where: 'spool/uns/sessions.db', what, repaired: false, remains: true };
  }
}
