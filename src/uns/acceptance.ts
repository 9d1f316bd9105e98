/**
 * When a set counts as accepted: its end has been read, some of it can be taken, it fits into what its
 * provider may have, and its file, name and folder are on disk; in a kept home, when the Queue Manager has
 * absorbed it (absorptions.ts). The CP is told so afterwards, and not before. A set without an end is
 * refused by session.ts.
 */
import type { PidbReader } from '../db/providers/pidb-reader.js';
import { Refusal } from '../wire/refusal.js';
import type { Absorptions } from './absorptions.js';
import type { Rations } from './full-sets-allowed.js';
import type { SetSpooling } from './set-spooling.js';

export interface AcceptanceParts {
  pidb: PidbReader;
  rations: Rations;
  /** There in a kept home. */
  absorptions: Absorptions | undefined;
}

/**
 * Makes a set durable whose end has been read.
 * @throws Refusal 101, 102 or 201 to 204; LccError `io.full` or `io`
 */
export async function acceptSet(
  set: SetSpooling,
  { pidb, rations, absorptions }: AcceptanceParts,
): Promise<void> {
  const { kind, provider } = set;
  const after = pidb.latestSet(provider.pid);
  // Nobody would fetch for it.
  if (after === undefined) throw new Refusal(101, 'the provider was removed');
  // The set would remove all that is held; a wrong urlprefix is likelier than a site that has become all
  // wrong.
  if (kind === 'full' && set.urls > 0 && set.received === 0)
    throw new Refusal(204, 'not one url of the full set was acceptable: nothing was changed');
  if (kind === 'partial') await set.demandQuota();
  const commit = () => set.commit(after);
  // safeguard: the acknowledgement of a set waiting for the disk
  const entry = await (kind === 'full' ? rations.accept(provider, commit) : commit());
  // safeguard: the acknowledgement of a set waiting for the Queue Manager of a kept home
  await absorptions?.of(entry);
}
