/** The homes of an LCC that is several, and who is asked for each, as its engine has them. */
import { doorOfHome, OWNER_PATIENCE_MS } from '../config/cluster.js';
import type { Settings } from '../config/settings/index.js';
import type { OwnedHome } from '../db/engine/map.js';
import type { Clock } from '../lib/clock.js';
import type { Endpoint } from '../lib/endpoint.js';
import { LccError } from '../lib/errors.js';
import { silentLog } from '../lib/log.js';
import type { RemoteOptions } from './remote/link.js';
import type { AskedShard, ShardList } from './shards.js';

export interface AskedShards {
  list: ShardList;
  close(): void;
}

/** @param asked how an lccd-cu is asked @param only one home alone */
export async function askedShards(
  { store, cluster }: Pick<Settings, 'store' | 'cluster'>,
  {
    asked,
    only,
    clock,
  }: { asked: (endpoint: Endpoint) => RemoteOptions; only?: number | undefined; clock: Clock },
): Promise<AskedShards> {
  // Without several homes none of this is loaded.
  const { Engine } = await import('../db/engine/engine.js');
  const { ProviderMap } = await import('../db/engine/map.js');
  const { engineAccount } = await import('../db/engine/nodes.js');
  const engine = new Engine(engineAccount(store), { clock, log: silentLog });
  const map = new ProviderMap(engine);
  let homes: readonly OwnedHome[] | undefined;
  const known = new Map<string, AskedShard>();
  const from = (home: OwnedHome): AskedShard['from'] =>
    home.owner === ''
      ? undefined
      : { ...asked(doorOfHome(cluster, home, 'lccq')), patienceMs: OWNER_PATIENCE_MS };
  const list: ShardList = async stop => {
    try {
      homes = await map.homes(AbortSignal.any([stop, AbortSignal.timeout(OWNER_PATIENCE_MS)]));
    } catch (error) {
      if (!(error instanceof LccError) || error.code !== 'try.later') throw error;
      // Homes as it last had them: the engine alone is away.
      if (homes === undefined)
        throw new LccError(
          'try.later',
          `the engine (store.url) does not answer: ${engine.away?.reason ?? 'silent'}`,
          {
            cause: error,
          },
        );
    }
    const wanted = homes.filter(({ shard }) => only === undefined || shard === only);
    if (wanted.length === 0)
      throw new LccError('usage', `the LCC has no home ${only ?? 0}; lccmap list shows those there are`);
    return wanted.map(home => {
      const key = `${home.shard} ${home.owner}`;
      const one = known.get(key) ?? { shard: home.shard, from: from(home) };
      known.set(key, one);
      return one;
    });
  };
  return { list, close: () => engine.close() };
}
