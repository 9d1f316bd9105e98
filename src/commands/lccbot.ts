import { Duplex } from 'node:stream';
import { logLevelOf } from '../daemon/log-level.js';
import { EXIT, exitStatusOf, LccError, type ExitStatus } from '../lib/errors.js';
import { createLog } from '../lib/log.js';
import { BOT_FIGURES } from '../bot/figures.js';
import { setProcessToFetch } from '../bot/process.js';
import { robotOf, startRobot } from '../bot/start.js';
import { endpointsOf, runAsDaemon } from './daemon.js';
import { ALLOW_ADDRESS_OPTION, allowedOf, CONFIG_OPTION, configOf, textOf } from './options.js';
import { isTerminal, type CommandContext, type CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccbot',
  summary: 'Robot: fetches what a Bot Manager, or a person, asks for.',
  options: [
    {
      flags: '--bm <ENDPOINT>',
      help: 'connect to this Bot Manager, and again whenever the connection is lost',
    },
    { flags: '--listen <ENDPOINT>', help: 'wait to be connected to; may be repeated', repeat: true },
    {
      flags: '--dir <FOLDER>',
      help: 'with --listen: files below it may be asked for; else content comes with its result only',
    },
    { flags: '--stdio', help: 'talk on standard input and output' },
    { flags: '--slots <N>', sets: 'bm.slots', help: 'fetches at a time (default: bm.slots, 64)' },
    ALLOW_ADDRESS_OPTION,
    {
      flags: '--name <NAME>',
      help: 'name in the log and of the control socket, when several robots share $LCC_HOME',
      default: 'lccbot',
    },
    CONFIG_OPTION,
  ],
  example: `echo '<fetch id="1" url="http://www.example.org/" file="/tmp/page"/>' | lccbot --stdio`,
  run(context) {
    const ways = ['bm', 'listen', 'stdio'].filter(option => context.options[option] !== undefined);
    if (ways.length !== 1)
      throw new LccError('usage', 'give one of --bm=ENDPOINT, --listen=ENDPOINT, --stdio');
    const { name } = context.options;
    const dir = textOf(context.options, 'dir');
    if (dir !== undefined && ways[0] !== 'listen')
      throw new LccError('usage', '--dir is for --listen: a Bot Manager and --stdio name any file');
    setProcessToFetch();
    if (ways[0] === 'stdio') return serveStdio(context);
    if (typeof name !== 'string' || !/^[\w.-]{1,64}$/.test(name))
      throw new LccError('usage', `--name=${String(name)}: use letters, digits, dots, dashes; at most 64`);
    return runAsDaemon(context, {
      name,
      metrics: { listen: 'bot.metrics_listen', figures: BOT_FIGURES },
      start: services =>
        startRobot(services, {
          ...(ways[0] === 'bm'
            ? { bm: endpointsOf(context, 'bm'), listen: [] }
            : { bm: [], listen: endpointsOf(context, 'listen') }),
          dir,
          allowed: allowedOf(context.options),
        }),
    });
  },
};

/** How often a process with nothing else to do wakes up, so that it does not end. */
const KEEP_ALIVE_MS = 60_000;

/** Serves one conversation and ends with it. */
async function serveStdio(context: CommandContext): Promise<ExitStatus> {
  const config = configOf(context);
  const log = createLog({
    name: context.name,
    level: logLevelOf(context),
    human: isTerminal(context.stderr),
  });
  const robot = robotOf(config.settings, { allowed: allowedOf(context.options), clock: context.clock, log });
  const stream = Duplex.from({ readable: context.input(), writable: process.stdout });
  // A server that says nothing more leaves nothing but the deadline to wait for, and timers of the clock do
  // not keep a process alive: it would end, with 0, without the results it owes.
  const alive = setInterval(() => undefined, KEEP_ALIVE_MS);
  const status = await new Promise<ExitStatus>(resolve => {
    robot.serve(stream, 'stdin', 'person', {
      closed: reason => resolve(reason === undefined ? EXIT.ok : exitStatusOf(reason)),
    });
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.on(signal, () => void robot.stop().then(() => resolve(EXIT.ok)));
  });
  await robot.stop();
  clearInterval(alive);
  // Neither a terminal still open for reading nor idle connections keep a robot alive that is done.
  setImmediate(() => context.end(status));
  return status;
}
