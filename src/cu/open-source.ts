/** The source that a delivery names. */
import { Bringer } from './peers/bringer.js';
import { LocalSource, type Source } from './source.js';
import type { Delivery } from './types.js';

/** @throws LccError as CacheReader, or as `CuLink.ask` where an lccd-cu is asked */
export async function openSource({
  from,
  dbPath,
  machineId,
  peers,
  shipped,
}: Pick<Delivery, 'from' | 'dbPath' | 'machineId' | 'peers' | 'shipped'>): Promise<Source> {
  if (from === undefined)
    return new LocalSource(dbPath, machineId, peers && (await bringerOf(peers)), shipped);
  // Code for connections takes no time of the start otherwise.
  const { RemoteSource } = await import('./remote/source.js');
  return RemoteSource.open(from);
}

async function bringerOf(peers: NonNullable<Delivery['peers']>): Promise<Bringer> {
  const { PeerContents } = await import('./peers/contents.js');
  return new Bringer(new PeerContents(peers), peers.skipsAway);
}
