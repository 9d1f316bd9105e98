/** The map of an LCC that is several homes, for commands. */
import type { Config } from '../config/load.js';
import { Engine } from '../db/engine/engine.js';
import { ProviderMap } from '../db/engine/map.js';
import { engineAccount } from '../db/engine/nodes.js';
import type { Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';
import { silentLog } from '../lib/log.js';

/** Time for the engine to answer all that a command asks. */
const LIMIT_MS = 60_000;

/** @throws LccError `try.later` when the engine has not answered in time */
export async function withMap<T>(
  { settings }: Config,
  clock: Clock,
  work: (map: ProviderMap, stop: AbortSignal) => Promise<T>,
): Promise<T> {
  const engine = new Engine(engineAccount(settings.store), { clock, log: silentLog });
  const stop = AbortSignal.timeout(LIMIT_MS);
  try {
    return await work(new ProviderMap(engine), stop);
  } catch (error) {
    if (!stop.aborted) throw error;
    const why = engine.away === undefined ? '' : `: ${engine.away.reason}`;
    throw new LccError('try.later', `the engine (store.url) does not answer${why}`, { cause: error });
  } finally {
    engine.close();
  }
}

/**
 * Has providers that `add` adds to this home be those of no other: their numbers are taken first, and given back
 * where nothing was added. Without an engine it is added, no more.
 * @throws LccError `usage` naming the home that has one
 */
export async function addMapped<T>(
  config: Config,
  clock: Clock,
  pids: readonly number[],
  add: () => Promise<T>,
): Promise<T> {
  const { store, cluster } = config.settings;
  if (store.url === '') return add();
  return withMap(config, clock, async (map, stop) => {
    const { taken, elsewhere } = await map.take(pids, cluster.shard, stop);
    const [other] = elsewhere;
    try {
      if (other !== undefined)
        throw new LccError(
          'usage',
          `home ${other[1]} has provider ${other[0]} already (lccmap where ${other[0]})`,
        );
      return await add();
    } catch (error) {
      await map.free(taken, cluster.shard, stop);
      throw error;
    }
  });
}

/** Gives back the number of a provider that this home has nothing of any more. */
export async function freeMapped(config: Config, clock: Clock, pid: number): Promise<void> {
  const { store, cluster } = config.settings;
  if (store.url !== '') await withMap(config, clock, (map, stop) => map.free([pid], cluster.shard, stop));
}
