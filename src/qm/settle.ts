/** What the end of a fetch means for the order of its provider's urls. */
import type { Outcome } from '../db/queue/results.js';
import type { Known } from './known-providers.js';
import type { Arrival } from './results.js';

/**
 * @param dueMs when a url that has failed so often may be tried again, monotonic
 * @returns whether the url may be taken again at once, as far as its provider may
 */
export function settle(
  { order, silent }: Known,
  { set, pos, tries }: Pick<Arrival['sent'], 'set' | 'pos' | 'tries'>,
  outcome: Outcome,
  dueMs: (tries: number) => number,
): boolean {
  switch (outcome) {
    case 'done':
      order.done(set, pos);
      return false;
    case 'bad':
      order.bad(set, pos, tries + 1, dueMs(tries + 1));
      return false;
    case 'again':
      order.again(set, pos);
      return true;
    case 'site':
      if (silent.isSpread) {
        // Its host does not answer, others of its provider may. One that has failed otherwise waits with its like.
        if (tries > 0) order.bad(set, pos, tries, dueMs(tries));
        else if (!order.behind(set, pos)) order.again(set, pos);
      } else {
        order.again(set, pos);
      }
      return true;
  }
}
