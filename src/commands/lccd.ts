/** lccd(8): a whole LCC on one machine. */
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { printConfig, type Config, type ConfigSources } from '../config/load.js';
import type { Running, Services } from '../daemon/types.js';
import { parseEndpoint } from '../lib/endpoint.js';
import { roomlessness } from '../lib/disk-room.js';
import { EXIT, LccError } from '../lib/errors.js';
import { tryLock } from '../lib/lock.js';
import { askStatus, controlSocket } from '../run/ask.js';
import type { ChildSpec } from '../run/child.js';
import { fullDiskTrap } from '../run/full-disk.js';
import { KINDS, STOP_ORDER } from '../run/kinds.js';
import { LCCD_FIGURES } from '../run/figures.js';
import { supervisorTimes } from '../run/options.js';
import { Supervisor } from '../run/supervisor.js';
import { runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, configOf, textOf, textsOf } from './options.js';
import type { CommandContext, CommandSpec } from './run.js';

/**
 * Each daemon collects its young garbage with one thread. V8 would have four threads search together for the few objects
 * that live on; beside five other busy processes their help costs more than it gives: 10 µs of 215 µs CPU a url (one
 * provider alone, two cores).
 */
const NODE_FLAGS = ['--no-parallel-scavenge'];

export const command: CommandSpec = {
  name: 'lccd',
  summary: 'Run a whole Local Content Cache on this machine: its daemons as child processes.',
  options: [
    {
      flags: '--listen <ENDPOINT>',
      help: 'where providers connect; may be repeated (uns.listen)',
      repeat: true,
    },
    { flags: '--bots <N>', help: 'robots to start (bm.bots)' },
    { flags: '--slots <N>', help: 'fetches at a time of each robot (bm.slots)' },
    {
      flags: '--allow-address <CIDR>',
      help: 'network to fetch from although it is not public; may be repeated (bot.allow_addresses)',
      repeat: true,
    },
    {
      flags: '--cu-listen <ENDPOINT>',
      help: 'where content users connect; starts lccd-cu; may be repeated (cu.listen)',
      repeat: true,
    },
    CONFIG_OPTION,
    { flags: '--print-config', help: "print the effective configuration with each value's origin, and end" },
  ],
  example: 'lccd --listen=9000 --allow-address=192.168.0.0/16',
  run,
};

function run(context: CommandContext): Promise<number> | number {
  const { options } = context;
  for (const name of ['listen', 'cuListen'])
    for (const endpoint of textsOf(options, name) ?? []) parseEndpoint(endpoint);
  const overrides: ConfigSources['overrides'] = {
    'uns.listen': textsOf(options, 'listen'),
    'cu.listen': textsOf(options, 'cuListen'),
    'bm.bots': textOf(options, 'bots'),
    'bm.slots': textOf(options, 'slots'),
    'bot.allow_addresses': textsOf(options, 'allowAddress'),
  };
  if (options['printConfig'] === true) {
    process.stdout.write(printConfig(configOf(context, { overrides })));
    return EXIT.ok;
  }
  const metrics = { listen: 'lccd.metrics_listen', figures: LCCD_FIGURES } as const;
  const spec = { name: 'lccd', metrics, start: (services: Services) => start(services, context) };
  return runAsDaemon(context, spec, overrides);
}

async function start(services: Services, context: CommandContext): Promise<Running> {
  const { config, clock, log } = services;
  const { dir, run: runDir } = config.home;
  const lock = tryLock(join(runDir, 'lccd.lock'));
  if (lock === undefined)
    throw new LccError('peer.unavailable', `${dir}: another lccd runs this LCC; stop that one first`);
  const trap = fullDiskTrap(config);
  if (trap !== undefined) log.warn('a full disk could not be emptied', { reason: trap });
  const supervisor = new Supervisor({
    children: childrenOf(config, context),
    stopOrder: STOP_ORDER,
    clock,
    log,
    ...supervisorTimes(config),
    failed: error => services.fail(error),
    // Without room no daemon opens a database.
    notNow: status =>
      status === EXIT.ioerr ? (roomlessness(dir) ?? roomlessness(config.home.unsSpool)) : undefined,
    isReady: async (name, pid) => {
      try {
        // An orphan of an earlier lccd may still answer here: its successor is ready when it answers itself.
        return (await askStatus(controlSocket(runDir, name))).pid === pid;
      } catch {
        return false;
      }
    },
    answers: name =>
      askStatus(controlSocket(runDir, name)).then(
        () => true,
        // One that takes long is there.
        error => error instanceof LccError && error.code === 'try.later',
      ),
  });
  services.told.addEventListener('abort', () => void supervisor.stop());
  await supervisor.start();
  return {
    status: () => supervisor.status(),
    reload: () => supervisor.reload(),
    async stop() {
      await supervisor.stop();
      lock.release();
    },
  };
}

/** In starting order, as the kinds are. */
function childrenOf(config: Config, context: CommandContext): ChildSpec[] {
  const bin = dirname(realpathSync(process.argv[1] ?? ''));
  const { run: runDir } = config.home;
  const unix = (file: string) => `unix:${join(runDir, file)}`;
  // The longest path below run/: a home that is too deep is refused here, with a message that says so.
  parseEndpoint(unix(`lccbot-${config.get('bm.bots')}.ctl.sock`));
  const common = [
    ...(config.file === undefined ? [] : [`--config=${config.file}`]),
    ...(context.quiet ? ['--quiet'] : []),
    ...(context.verbose ? ['--verbose'] : []),
  ];
  const child = (command: string, args: string[], instance?: string): ChildSpec => ({
    name: instance === undefined ? command : `${command}-${instance}`,
    file: process.execPath,
    args: [...NODE_FLAGS, join(bin, command), ...args, ...common],
    env: childEnvironment(context.env, instance),
  });
  return KINDS.flatMap(({ name, children }) =>
    children(config, unix).map((args, i, { length }) =>
      child(name, args, length === 1 ? undefined : String(i + 1)),
    ),
  );
}

/** systemd talks to lccd alone: a child that said READY or fed the watchdog would speak for all. */
function childEnvironment(env: NodeJS.ProcessEnv, instance: string | undefined): NodeJS.ProcessEnv {
  const { NOTIFY_SOCKET: _notify, WATCHDOG_USEC: _usec, WATCHDOG_PID: _pid, ...rest } = env;
  return instance === undefined ? rest : { ...rest, LCC_INSTANCE: instance };
}
