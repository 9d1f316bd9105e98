import { Duplex } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { logLevelOf } from '../daemon/log-level.js';
import { EXIT, exitStatusOf, LccError, type ExitStatus } from '../lib/errors.js';
import { createLog } from '../lib/log.js';
import { BOT_FIGURES } from '../bot/figures.js';
import { robotOf, startRobot } from '../bot/start.js';
import { endpointsOf, runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, configOf, textOf, textsOf } from './options.js';
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
    {
      flags: '--allow-address <CIDR>',
      help: 'fetch from this network although it is not public; may be repeated',
      repeat: true,
    },
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
    // Names are looked up, files synced and large bodies decoded in libuv's pool; its four threads would let
    // a few dead name servers hold up everything. Must be set before the pool is first used.
    process.env['UV_THREADPOOL_SIZE'] ??= '32';
    // V8 would optimise undici's parser, which is WebAssembly, after the first answers: 0.15 s of processor
    // time and 40 MB to save 1 µs a page. And it would compile what makes requests once more, and again, as
    // it notices that they live long.
    for (const flag of ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering', '--no-allocation-site-pretenuring'])
      setFlagsFromString(flag);
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
          allowed: allowedOf(context),
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
  const robot = robotOf(config.settings, { allowed: allowedOf(context), clock: context.clock, log });
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

/** Networks given on the command line, beside those configured. */
function allowedOf({ options }: CommandContext): readonly string[] {
  return textsOf(options, 'allowAddress') ?? [];
}
