/** `lccpidb rm`: a provider that nothing is held of; with `--purge` any, once its count has been repeated. */
import { amount } from '../config/words.js';
import { contentOf, purgeProvider, removeProvider } from '../db/providers/removal.js';
import type { Db } from '../db/sqlite/open.js';
import { LccError } from '../lib/errors.js';
import { firstLineOf } from '../lib/first-line.js';
import { setsInSpools } from '../uns/spool-names.js';
import type { CommandContext } from './run.js';

/**
 * @throws LccError `usage` while anything of it is stored, queued, or in the spool of a UNS, on its way to
 * the queue; with `--purge`: when another count is given than that of its urls
 */
export function remove(db: Db, pid: number, context: CommandContext, unsSpool: string): void {
  const { purge } = context.options;
  const { stored, queued } = contentOf(db, pid);
  if (purge !== undefined && stored + queued > 0) {
    const given = purge === true ? undefined : String(purge);
    return purgeAll(db, pid, context, { stored, queued, given });
  }
  // Before the queue is looked at: what is handed over meanwhile is found there.
  const spooled = [...setsInSpools(unsSpool)]
    .map(([uns, labels]) => ({ uns, sets: labels.filter(label => label.pid === pid).length }))
    .filter(({ sets }) => sets > 0);
  const [first] = spooled;
  if (first !== undefined) {
    const sets = spooled.reduce((sum, each) => sum + each.sets, 0);
    throw new LccError(
      'usage',
      `provider ${pid} still has ${amount(sets, 'accepted set')} in the spool of ${first.uns}${spooled.length > 1 ? ' and others' : ''}; that UNS and lccd-qm must run (see lccstat)`,
    );
  }
  removeProvider(db, pid);
}

interface Purge {
  stored: number;
  queued: number;
  /** The count, as the option gives it; undefined: it is asked for. */
  given: string | undefined;
}

function purgeAll(db: Db, pid: number, context: CommandContext, { stored, queued, given }: Purge): void {
  const count = String(stored + queued);
  const what = `provider ${pid} has ${amount(stored, 'url')} stored and ${queued} queued`;
  if (given === undefined) context.say(`${what}; type ${count} to have all of that removed`);
  if ((given ?? firstLineOf(context.stdin)?.trim()) !== count)
    throw new LccError(
      'usage',
      `${what}, and nothing is removed; lccpidb rm --pid=${pid} --purge=${count} removes all of that, and the provider; lccctl pause --pid=${pid} keeps the number as it is`,
    );
  purgeProvider(db, pid, Math.floor(context.clock.nowMs() / 1000));
  context.say(
    `provider ${pid} is disabled; lccd-qm removes what it has, and then the provider, as soon as it runs (lccpidb list)`,
  );
}
