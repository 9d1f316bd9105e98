/** Rows that do not agree with their sums. */
import { damagedContent, damagedDeletions, damagedWaiting, type DamagedRow } from '../db/damage.js';
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
  for (const damaged of damagedDeletions(db)) {
    mender?.dropDeletions(damaged);
    for (const { table, seq, pid } of damaged) {
      const what = `does not agree with its checksum: provider ${pid}`;
      yield { kind: 'damaged-row', where: `${table} ${seq}`, what, repaired: mender !== undefined };
    }
  }
}
