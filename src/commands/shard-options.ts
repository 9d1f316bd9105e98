/** `--all` and `--shard`: homes of one LCC that are asked, as its engine has them. */
import { doorOfHome } from '../config/cluster.js';
import type { Config } from '../config/load.js';
import { SECOND } from '../config/amounts.js';
import type { AskedShard, ShardList } from '../cu/shards.js';
import type { Delivery } from '../cu/types.js';
import type { OwnedHome } from '../db/engine/map.js';
import { LccError } from '../lib/errors.js';
import { silentLog } from '../lib/log.js';
import { asMachine } from './from-options.js';
import { numberOf, textOf } from './options.js';
import type { CommandContext, OptionSpec } from './run.js';

export const SHARD_OPTIONS: readonly OptionSpec[] = [
  {
    flags: '--all',
    help: 'ask all homes of the LCC, one after the other, each with a stream and a cursor (FILE.N) of its own',
  },
  { flags: '--shard <N>', help: 'as --all, and home N alone', once: true },
];

/** For an answer: of the engine, and of a home before the others get their turn. */
const PATIENCE_MS = 10 * SECOND;

export interface AskedShards {
  list: ShardList;
  close(): void;
}

/** Undefined where one home is asked. @throws LccError `usage`, `config` */
export async function shardsOf(context: CommandContext, config: Config): Promise<AskedShards | undefined> {
  const { options, clock } = context;
  const only = numberOf(options, 'shard', 'give the number of a home, from 0', { min: 0 });
  if (options['all'] !== true && only === undefined) return undefined;
  const { settings } = config;
  if (textOf(options, 'from') !== undefined)
    throw new LccError(
      'usage',
      '--from asks one lccd-cu, --all and --shard the owners of homes; leave one of them out',
    );
  if (settings.store.url === '')
    throw new LccError(
      'config',
      'store.url is not set: an LCC without an engine is one home; leave out --all and --shard',
    );
  const { Engine } = await import('../db/engine/engine.js');
  const { ProviderMap } = await import('../db/engine/map.js');
  const { engineAccount } = await import('../db/engine/nodes.js');
  const asked = await asMachine(context, config);
  const engine = new Engine(engineAccount(settings.store), { clock, log: silentLog });
  const map = new ProviderMap(engine);
  let homes: readonly OwnedHome[] | undefined;
  const known = new Map<string, AskedShard>();
  const from = (home: OwnedHome): AskedShard['from'] =>
    home.owner === ''
      ? undefined
      : { ...asked(doorOfHome(settings.cluster, home, 'lccq')), patienceMs: PATIENCE_MS };
  const list: ShardList = async stop => {
    try {
      homes = await map.homes(AbortSignal.any([stop, AbortSignal.timeout(PATIENCE_MS)]));
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

/** @throws LccError `usage` */
export function checkShards({ follows, cursor, consumer, query }: Delivery): void {
  if (follows && (cursor === undefined || consumer === undefined || query.limit !== undefined))
    throw new LccError(
      'usage',
      '--all --follow takes the homes in turn, and has no limit; give --cursor=FILE and -- CMD, leave out --limit',
    );
}
