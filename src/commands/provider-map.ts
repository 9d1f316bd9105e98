/** The map of an LCC that is several homes, for commands. */
import type { Config } from '../config/load.js';
import { Engine } from '../db/engine/engine.js';
import { ProviderMap } from '../db/engine/map.js';
import { engineAccount } from '../db/engine/nodes.js';
import { readPids } from '../db/providers/listing.js';
import { LccError } from '../lib/errors.js';
import { silentLog } from '../lib/log.js';
import { sayingWait } from './engine-wait.js';
import { readLcc } from './lcc-db.js';
import type { CommandContext } from './run.js';

/** Time for the engine to answer all that a command asks. */
const LIMIT_MS = 60_000;

/** @throws LccError `try.later` when the engine has not answered in time */
export async function withMap<T>(
  { settings }: Config,
  context: CommandContext,
  work: (map: ProviderMap, stop: AbortSignal, engine: Engine) => Promise<T>,
  limitMs = LIMIT_MS,
): Promise<T> {
  const engine = new Engine(engineAccount(settings.store), { clock: context.clock, log: silentLog });
  const stop = AbortSignal.timeout(limitMs);
  try {
    const reason = () => engine.away?.reason;
    return await sayingWait(context, reason, work(new ProviderMap(engine), stop, engine));
  } catch (error) {
    if (!stop.aborted) throw error;
    const why = engine.away === undefined ? '' : `: ${engine.away.reason}`;
    throw new LccError('try.later', `the engine (store.url) does not answer${why}`, { cause: error });
  } finally {
    engine.close();
  }
}

/**
 * Adds providers to this home whose numbers no other home has: they are taken first, and given back where
 * nothing was added. Without an engine it is added, no more.
 * @throws LccError `usage` naming the home that has one
 */
export async function withNumbers<T>(
  config: Config,
  context: CommandContext,
  pids: readonly number[],
  add: () => T,
): Promise<T> {
  const { store, cluster } = config.settings;
  if (store.url === '') return add();
  return withMap(config, context, async (map, stop) => {
    const { taken, elsewhere } = await map.take(pids, cluster.shard, stop);
    const [other] = elsewhere;
    try {
      if (other !== undefined)
        throw new LccError(
          'usage',
          `home ${other[1]} has provider ${other[0]}; numbers are of one home of the LCC (lccmap list)`,
        );
      return add();
    } catch (error) {
      await map.free(taken, cluster.shard, stop);
      throw error;
    }
  });
}

/** The same with numbers of a range, as many as may be needed; those that are not are given back. */
export async function withFreeNumbers<T extends { pid: number }>(
  config: Config,
  context: CommandContext,
  { firstPid, endPid, most }: { firstPid: number; endPid: number; most: number },
  add: (mayTake: (pid: number) => boolean) => T[],
): Promise<T[]> {
  const { store, cluster } = config.settings;
  if (store.url === '') return add(() => true);
  return withMap(config, context, async (map, stop) => {
    const free = await map.firstFree(firstPid, endPid, most, stop);
    const unused = new Set((await map.take(free, cluster.shard, stop)).taken);
    const mayTake = new Set(unused);
    try {
      const added = add(pid => mayTake.has(pid));
      for (const { pid } of added) unused.delete(pid);
      return added;
    } finally {
      await map.free([...unused], cluster.shard, stop);
    }
  });
}

/** Gives back the number of a provider that this home has nothing of any more, in the engine either. */
export async function freeMapped(config: Config, context: CommandContext, pid: number): Promise<void> {
  const { store, cluster } = config.settings;
  if (store.url === '') return;
  const isHere = readLcc(config.home.db, db => readPids(db).includes(pid));
  if (isHere) return;
  await withMap(config, context, (map, stop) => map.free([pid], cluster.shard, stop));
}
