/** The sets of the queue (QPSDB) against its urls (QDB). */
import { disagreement, strayRows } from '../db/queue/sets-from-urls.js';
import type { Db } from '../db/sqlite/open.js';
import type { CheckContext, Finding } from './types.js';

export function* sets({ db, look, live, repairs }: CheckContext): Generator<Finding> {
  const wrong = () => wrongSets(db, repairs !== undefined);
  yield* live ? look.surely(wrong) : wrong();
  repairs?.rebuildSets();
}

function* wrongSets(db: Db, repaired: boolean): Generator<Finding> {
  for (const { pos, psetid, range } of strayRows(db)) {
    const what = `says it is of set ${psetid}, at a place of ${range === null ? 'no set' : `set ${range}`}`;
    yield { kind: 'set', where: `qdb ${pos}`, what, repaired };
  }
  // A set without urls is no fault: those of one that waits may have gone otherwise than by being fetched.
  const other = disagreement(db);
  if (other !== undefined) yield { kind: 'set', where: 'qpsdb', what: other, repaired };
}
