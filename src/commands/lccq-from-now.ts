/** `lccq --from-now`: cursors that begin with the next change. */
import { beginCursor } from '../cu/cursor-now.js';
import { selectionText } from '../cu/cursor.js';
import type { RemoteOptions } from '../cu/remote/link.js';
import { forEachShard, shardCursor } from '../cu/shards.js';
import { whenShipped } from '../daemon/when-shipped.js';
import { readingError } from '../db/sqlite/open.js';
import { EXIT, LccError } from '../lib/errors.js';
import { askedOf } from './from-options.js';
import { configOf, numberOf, textOf } from './options.js';
import type { CommandContext } from './run.js';
import { shardsOf } from './shard-options.js';

/** @throws LccError `usage`; as `beginCursor` */
export async function fromNow(context: CommandContext): Promise<number> {
  const { options } = context;
  const own =
    'fromNow cursor pid prefix mime from all shard reader pwdfile cafile config quiet verbose format deleted'.split(
      ' ',
    );
  const file = textOf(options, 'cursor');
  if (
    file === undefined ||
    Object.keys(options).some(name => !own.includes(name)) ||
    context.afterDashes !== undefined
  )
    throw new LccError(
      'usage',
      '--from-now makes the cursor of --cursor=FILE, and takes --pid, --prefix, --mime, --from, --all and --shard alone',
    );
  const pid = numberOf(options, 'pid', 'give a number from 1');
  const of = selectionText({ pid, prefix: textOf(options, 'prefix'), mime: textOf(options, 'mime') });
  const config = configOf(context);
  const { db } = config.home;
  const begin = async (from: RemoteOptions | undefined, name: string) => {
    const shipped = from === undefined ? whenShipped(config, context.clock) : undefined;
    const { seq } = await beginCursor({ dbPath: db, from, shipped }, { file: name, of });
    context.say(`${name} begins after change ${seq}`);
    return EXIT.ok;
  };
  const shards = await shardsOf(context, config);
  try {
    if (shards === undefined) return await begin(await askedOf(context, config), file);
    return await forEachShard(
      await shards.list(new AbortController().signal),
      (from, shard) => begin(from, shardCursor(file, shard)),
      (shard, error) => context.complain(`shard ${shard}: ${error.message}`),
    );
  } catch (error) {
    throw readingError(db, error);
  } finally {
    shards?.close();
  }
}
