/** `lccctl backup` and `lccctl restore`: a copy of an LCC, and an LCC of a copy. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../config/load.js';
import { amount } from '../config/words.js';
import { backUp } from '../fsck/copies/backup.js';
import { restore as putBack } from '../fsck/copies/restore.js';
import { runFsck } from '../fsck/run.js';
import { EXIT, type ExitStatus } from '../lib/errors.js';
import { fsckPlaces } from './fsck-places.js';
import { configOf } from './options.js';
import type { CommandContext } from './run.js';
import { VERSION } from './version.js';

export async function backup(context: CommandContext, dir: string): Promise<ExitStatus> {
  const { home, file } = configOf(context);
  const { pages = 0, missing = 0 } = await backUp({
    home,
    configFile: file,
    dir,
    version: VERSION,
    nowMs: () => context.clock.nowMs(),
    advance: context.progress('rows'),
  });
  const gone = missing === 0 ? '' : `; ${amount(missing, 'page')} went meanwhile and will be fetched again`;
  context.say(`${dir}: ${amount(pages, 'page')} of this machine${gone}`);
  return EXIT.ok;
}

export async function restore(context: CommandContext, dir: string): Promise<ExitStatus> {
  const { options, env } = context;
  const moved = options['moved'] === true;
  // Settings that are there already are for this machine; else those of the backup hold.
  const ownHome = configOf(context);
  const ofBackup = join(dir, 'lcc.toml');
  const config =
    ownHome.file === undefined && existsSync(ofBackup)
      ? loadConfig({ env, file: ofBackup, overrides: context.settings })
      : ownHome;
  const facts = await putBack({ dir, home: config.home, moved });
  const { found, repaired, extent } = await runFsck(
    {
      ...fsckPlaces(config),
      repair: true,
      restored: !moved,
      // The store is another one, where nothing waits to be deleted: files without rows go at once.
      storeLost: true,
      startEmpty: false,
      removeOrphans: true,
      recheck: false,
      quick: true,
      nowMs: () => context.clock.nowMs(),
    },
    {
      found: ({ kind, where, what, repaired: isRepaired }) => {
        if (!isRepaired || context.verbose) context.say(`${kind} ${where}: ${what}`);
      },
      note: message => {
        if (context.verbose) context.say(message);
      },
      advance: context.progress('rows'),
    },
  );
  if (!moved) context.say('every provider is asked for a full set, every content user begins again');
  const left = found - repaired;
  const end = left === 0 ? 'start lccd' : `${amount(left, 'fault')} left: see lccfsck`;
  context.say(
    `the LCC of ${facts.began} is in ${config.home.dir}, with ${amount(extent.rows, 'page')}; ${end}`,
  );
  return left === 0 ? EXIT.ok : EXIT.someRejected;
}
