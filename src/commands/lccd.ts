/** lccd(8): a whole LCC on one machine. */
import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { fullDiskTrap } from '../config/full-disk-trap.js';
import type { Config } from '../config/load.js';
import { printConfig } from '../config/print-config.js';
import { EXIT } from '../lib/errors.js';
import { daemonsIn, lookAt } from '../daemon/ask.js';
import type { Status } from '../daemon/figures.js';
import type { Services } from '../daemon/types.js';
import type { Db } from '../db/sqlite/open.js';
import { LCCD_FIGURES } from '../run/figures.js';
import { startLcc, type LccdCall } from '../run/start.js';
import { sampledOf, WHOLE_FIGURES, wholeStatus } from '../run/whole-figures.js';
import type { Sampled } from '../web/metrics.js';
import { runAsDaemon } from './daemon.js';
import { FIGURES } from './figures.js';
import { readLcc } from './lcc-db.js';
import { CONFIG_OPTION, configOf, settingOption } from './options.js';
import type { CommandContext, CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd',
  summary: 'Run a whole Local Content Cache on this machine: its daemons as child processes.',
  options: [
    settingOption('--listen <ENDPOINT>', 'uns.listen', 'where providers connect'),
    settingOption('--bots <N>', 'bm.bots', 'robots to start'),
    settingOption('--slots <N>', 'bm.slots', 'fetches at a time of each robot'),
    settingOption(
      '--allow-address <CIDR>',
      'bot.allow_addresses',
      'network to fetch from although it is not public',
    ),
    settingOption('--cu-listen <ENDPOINT>', 'cu.listen', 'where content users connect; starts lccd-cu'),
    CONFIG_OPTION,
    { flags: '--print-config', help: "print the effective configuration with each value's origin, and end" },
  ],
  example: 'lccd --listen=9000 --allow-address=192.168.0.0/16',
  run,
};

function run(context: CommandContext): Promise<number> | number {
  const { options } = context;
  if (options['printConfig'] === true) {
    context.print(printConfig(configOf(context)));
    return EXIT.ok;
  }
  return runAsDaemon(context, {
    metrics: { listen: 'lccd.metrics_listen', figures: LCCD_FIGURES, others: oneLook(lookAtAll) },
    start: (services, config) => startLcc(services, callOf(context, config)),
  });
}

/** A daemon that hangs holds up the metrics of the others no longer than this. */
const ANSWER_MS = 1000;

/** The LCC as a whole, and each daemon below its home. */
async function lookAtAll({ home, clock }: Services): Promise<readonly Sampled[]> {
  const looks = await lookAt(
    home.run,
    daemonsIn(home.run).filter(name => name !== 'lccd'),
    ANSWER_MS,
  );
  const status = (db?: Db) => wholeStatus(home, db, clock.nowMs());
  let whole: Status;
  try {
    whole = readLcc(home.db, status);
  } catch {
    // The daemons report the fault of a database that cannot be read.
    whole = status();
  }
  return [{ figures: WHOLE_FIGURES, status: whole }, ...sampledOf(looks, FIGURES)];
}

/** Those who ask at the same time share the answer. */
function oneLook<T>(look: (services: Services) => Promise<T>): (services: Services) => Promise<T> {
  let under: Promise<T> | undefined;
  return services => (under ??= look(services).finally(() => (under = undefined)));
}

/** How its children are called: by the same launchers, with the same words. */
function callOf({ env, quiet, verbose, launcher }: CommandContext, config: Config): LccdCall {
  const words = [...(quiet ? ['--quiet'] : []), ...(verbose ? ['--verbose'] : [])];
  const bin = dirname(realpathSync(launcher));
  return { bin, words, env, configFile: config.file, trap: fullDiskTrap(config) };
}
