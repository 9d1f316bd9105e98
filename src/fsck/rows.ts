/** Rows that do not agree with their sums. */
import {
  damagedContent,
  damagedDeletions,
  damagedErrors,
  damagedWaiting,
  type DamagedRow,
} from '../db/damage.js';
import { adviceOn, Terms } from '../db/terms.js';
import type { CheckContext, Finding } from './types.js';

export function* sums({ db, mender }: CheckContext): Generator<Finding> {
  const finding = (table: string, row: DamagedRow): Finding => ({
    kind: 'damaged-row',
    where: `${table} ${row.id}`,
    what: `does not agree with its checksum: provider ${row.pid}, ${row.curl}`,
    repaired: mender !== undefined,
  });
  for (const row of damagedWaiting(db)) {
    mender?.dropWaiting(row);
    yield finding('qdb', row);
  }
  for (const row of damagedContent(db)) {
    mender?.dropContent(row);
    yield finding('lccurl', row);
  }
  for (const damaged of damagedErrors(db)) {
    mender?.dropErrors(damaged);
    for (const { errseq, pid } of damaged) {
      const what = `does not agree with its checksum: provider ${pid}`;
      yield { kind: 'damaged-row', where: `pierr ${errseq}`, what, repaired: mender !== undefined };
    }
  }
  for (const damaged of damagedDeletions(db)) {
    mender?.dropDeletions(damaged);
    for (const { table, seq, pid } of damaged) {
      const what = `does not agree with its checksum: provider ${pid}`;
      yield { kind: 'damaged-row', where: `${table} ${seq}`, what, repaired: mender !== undefined };
    }
  }
}

/** Providers that do not agree with their sums: which of it is wrong, their operator has to say. */
export function* providers({ db }: CheckContext): Generator<Finding> {
  for (const page of new Terms(db).remarkable())
    for (const { pid, state } of page)
      if (state === 'damaged') {
        const where = `provider ${pid}`;
        yield { kind: 'damaged-provider', where, what: adviceOn(pid), repaired: false, remains: true };
      }
}
