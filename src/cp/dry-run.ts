/** The set that lcccp would send, for `--dry-run`: the same checks of the input, and nobody is asked. */
import { SET_END, setStart } from '../wire/cp-uns/client.js';
import { withRoot } from '../wire/urlprefix.js';
import type { DeliveryOptions } from './deliver.js';
import { DeliveryInput } from './delivery-input.js';
import { refusePartAsFull, refusePartialEnd } from './full-set.js';
import type { SiteSize } from './quota.js';

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
  return urls.size;
}
