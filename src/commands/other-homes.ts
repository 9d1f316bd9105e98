/** Questions to the Queue Managers of other homes (lcc-cluster(7)), asked as lccd-rs asks them. */
import { doorOfHome } from '../config/cluster.js';
import type { Config } from '../config/load.js';
import { trustOf } from '../daemon/machines.js';
import { Conversation } from '../lib/conversation.js';
import { dial } from '../lib/dial.js';
import { LccError } from '../lib/errors.js';
import { QmRsLink } from '../rs/qm-link.js';
import { formatRsAsk, type RsQuestion } from '../wire/qm-rs.js';
import type { ProviderMap } from '../db/engine/map.js';
import type { ShownProvider } from '../db/providers/registered.js';
import { withMap } from './provider-map.js';
import type { CommandContext } from './run.js';

const ANSWER_MS = 10_000;

/** @returns a provider as its home has it, where that is another; otherwise as `askOthers` */
export async function providerElsewhere(context: CommandContext, config: Config, pid: number) {
  const [there] = await askOthers(context, config, [{ op: 'show', pid }], pid);
  return (there?.['provider'] as ShownProvider | null | undefined) ?? undefined;
}

/**
 * @param pid its home alone is asked, where that is another; undefined: all others are
 * @returns answers, of each home to all questions
 * @throws LccError `try.later` for a home without a machine, `peer.unavailable`
 */
export async function askOthers(
  context: CommandContext,
  config: Config,
  questions: readonly RsQuestion[],
  pid?: number,
) {
  const { store, cluster, net } = config.settings;
  if (store.url === '' || questions.length === 0) return [];
  const look = async (map: ProviderMap, stop: AbortSignal) => {
    const at = pid && ((await map.find([pid], stop)).get(pid)?.shard ?? cluster.shard);
    return (await map.homes(stop)).filter(({ shard }) => shard !== cluster.shard && shard === (at ?? shard));
  };
  const homes = await withMap(config, context, look, ANSWER_MS);
  const ask = async ({ owner, shard }: (typeof homes)[number]) => {
    if (owner === '') throw new LccError('try.later', `no machine has home ${shard}; again when one has it`);
    const door = doorOfHome(cluster, { owner, shard }, 'registration');
    const socket = dial(door, trustOf(net), () => undefined);
    const link = new QmRsLink(new Conversation(socket, `home ${shard}`, context.clock), ANSWER_MS);
    try {
      return await Promise.all(
        questions.map(async question => {
          const answer = await link.ask(formatRsAsk(question));
          if ('ok' in answer) return answer.ok;
          throw new LccError('try.later', 'later' in answer ? answer.later : answer.text);
        }),
      );
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      throw new LccError(error.code, `home ${shard} at ${owner}: ${error.message}`, { cause: error });
    } finally {
      link.close();
    }
  };
  return (await Promise.all(homes.map(ask))).flat();
}

/** Those of them that another home has. */
export async function haveOthers(context: CommandContext, config: Config, pids: readonly number[]) {
  const { store, cluster } = config.settings;
  if (store.url === '' || pids.length === 0) return new Set<number>();
  const located = await withMap(config, context, (map, stop) => map.find(pids, stop));
  return new Set(pids.filter(pid => (located.get(pid)?.shard ?? cluster.shard) !== cluster.shard));
}
