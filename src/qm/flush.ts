/** What `lccctl flush` does in a running Queue Manager: providers are asked now, whatever delays there are. */
import type { KnownProviders } from './known-providers.js';
import type { LaneTable } from './schedule/lanes.js';
import type { Waits } from './waits.js';

/** @param pid left out: all that have urls waiting, and what the LCC as a whole owes; what is written is forgotten already */
export function flush(
  { providers, table, waits }: { providers: KnownProviders; table: LaneTable; waits: Waits },
  pid?: number,
): void {
  if (pid === undefined) waits.forgetWhole();
  for (const known of providers.oneOrAll(pid)) {
    known.order.forgetDelays();
    known.silent.clear();
    waits.forget(known);
    table.setHasUrls(known.provider.pid, true);
  }
}
