/** The set that lcccp would send, for `--dry-run`: the same checks of the input, and nobody is asked. */
import { isPassing } from '../lib/errors.js';
import { SET_END, setStart } from '../wire/cp-uns/client.js';
import { withRoot } from '../wire/urlprefix.js';
import type { DeliveryOptions } from './deliver.js';
import { DeliveryInput } from './delivery-input.js';
import { refusePartAsFull, refusePartialEnd } from './full-set.js';
import type { SiteSize } from './quota.js';
import { isElsewhere, type NamedState } from './state/elsewhere.js';
import { MadeSet } from './state/outcome.js';

/** @throws LccError as for a delivery */
export async function* rehearse(
  input: AsyncIterable<Buffer>,
  options: Pick<DeliveryOptions, 'limits' | 'set' | 'urlprefix'>,
): AsyncGenerator<string, SiteSize, undefined> {
  const urls = new DeliveryInput(input, options.limits);
  await urls.begin();
  refusePartAsFull(urls, options.set);
  const set = options.set ?? urls.set ?? 'partial';
  yield setStart(set, withRoot(options.urlprefix ?? urls.urlprefix ?? '', urls.firstRelative));
  yield* urls.rest();
  refusePartialEnd(urls, set);
  yield SET_END;
  letGo(urls.state);
  return urls.size;
}

/** Nobody is sent the set: the next run need not ask what became of it. */
function letGo(named: NamedState | undefined): void {
  if (named === undefined || named.id === '' || isElsewhere(named)) return;
  try {
    MadeSet.find(named).notAccepted();
  } catch (error) {
    // Another run has taken its place.
    if (!isPassing(error)) throw error;
  }
}
