/** Rows that do not agree with their sums. */
import { damagedContent, damagedDeletions, damagedErrors, damagedWaiting } from '../db/damage.js';
import { adviceOn, Terms } from '../db/terms.js';
import type { CheckContext, Finding } from './types.js';

export function* sums({ db, mender }: CheckContext): Generator<Finding> {
  const finding = (where: string, { pid, curl }: { pid: number; curl?: string }): Finding => ({
    kind: 'damaged-row',
    where,
    what: `does not agree with its checksum: provider ${pid}${curl === undefined ? '' : `, ${curl}`}`,
    repaired: mender !== undefined,
  });
  for (const row of damagedWaiting(db)) {
    mender?.dropWaiting(row);
    yield finding(`qdb ${row.id}`, row);
  }
  for (const row of damagedContent(db)) {
    mender?.dropContent(row);
    yield finding(`lccurl ${row.id}`, row);
  }
  for (const damaged of damagedErrors(db)) {
    mender?.dropErrors(damaged);
    for (const row of damaged) yield finding(`pierr ${row.errseq}`, row);
  }
  for (const damaged of damagedDeletions(db)) {
    mender?.dropDeletions(damaged);
    for (const row of damaged) yield finding(`${row.table} ${row.seq}`, row);
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
