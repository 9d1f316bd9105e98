/** The source that a delivery names. */
import { LocalSource, type Source } from './source.js';
import type { Delivery } from './types.js';

/** @throws LccError as CacheReader, or as `CuLink.ask` where an lccd-cu is asked */
export async function openSource({
  from,
  dbPath,
  machineId,
}: Pick<Delivery, 'from' | 'dbPath' | 'machineId'>): Promise<Source> {
  if (from === undefined) return new LocalSource(dbPath, machineId);
  // Code for connections takes no time of the start otherwise.
  const { RemoteSource } = await import('./remote/source.js');
  return RemoteSource.open(from);
}
