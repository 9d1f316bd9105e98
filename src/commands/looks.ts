/** Statuses of the daemons of an LCC, and facts of UNSes that do not answer. */
import type { Home } from '../config/home.js';
import { amount } from '../config/words.js';
import type { Look } from '../daemon/ask.js';
import { errnoOf } from '../lib/errors.js';
import { isOfStandby, isUns } from '../run/kinds.js';
import { lookAround } from '../run/look/look-around.js';
import { standbyFor } from '../run/look/reasons.js';
import { setsInSpools } from '../uns/spool-names.js';

/** Looks at every daemon that has, or left, a control socket, and at UNSes that left sets. @param totalMs and
 * @throws LccError as `lookAround` */
export async function looksOf(
  { run, unsSpool }: Pick<Home, 'run' | 'unsSpool'>,
  totalMs?: number,
): Promise<Look[]> {
  const looks = await lookAround(run, totalMs);
  const all = [...looks, ...withoutUns(unsSpool, looks)];
  // Daemons of an owner are not missing here.
  return standbyFor(all) === undefined ? all : all.filter(one => 'status' in one || isOfStandby(one.name));
}

/** UNSes that do not run and left no socket, but sets that they accepted: nobody else hands those over. */
function withoutUns(unsSpool: string, looks: readonly Look[]): Look[] {
  const nameOf = (uns: string) => (uns === 'uns' ? 'lccd-uns' : `lccd-uns-${uns}`);
  const isKnown = (uns: string) =>
    looks.some(
      one => one.name === nameOf(uns) || ('status' in one && isUns(one.name) && one.status['id'] === uns),
    );
  try {
    return [...setsInSpools(unsSpool, uns => !isKnown(uns))].flatMap(([uns, { length }]) =>
      length === 0
        ? []
        : [
            {
              name: nameOf(uns),
              problem: `not running; ${amount(length, 'accepted set waits', 'accepted sets wait')} in its spool`,
            },
          ],
    );
  } catch (error) {
    // The daemons may be seen by more people than their spools.
    if (errnoOf(error) === 'EACCES') return [];
    throw error;
  }
}
