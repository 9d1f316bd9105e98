/** `--all` and `--shard`: homes of one LCC that are asked, as its engine has them. */
import type { Config } from '../config/load.js';
import { askedShards, type AskedShards } from '../cu/asked-shards.js';
import { LccError } from '../lib/errors.js';
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
  const asked = await asMachine(context, config);
  return askedShards(settings, { asked, only, clock });
}
