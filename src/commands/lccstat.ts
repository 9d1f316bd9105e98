/** lccstat(1): what each daemon of this LCC is doing; or waiting until it is done. */
import { homeOf } from '../config/load.js';
import { systemClock } from '../lib/clock.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { lookAround, type Look } from '../run/ask.js';
import { isIdle, untilIdle } from '../run/idle.js';
import { formatTable } from '../run/table.js';
import type { CommandContext, CommandSpec } from './run.js';

const WATCH_MS = 1000;
const CLEAR_SCREEN = '\u001b[H\u001b[2J';

export const command: CommandSpec = {
  name: 'lccstat',
  summary: 'Show what each daemon of the Local Content Cache below $LCC_HOME is doing.',
  options: [
    { flags: '--json', help: 'one JSON object on one line' },
    { flags: '--watch', help: 'again every second, until interrupted' },
    {
      flags: '--until-idle [SECONDS]',
      help: 'print nothing; wait until nothing is spooled, queued or being done: 0 then, 75 when SECONDS are over',
    },
  ],
  example: 'lccstat --until-idle=60 && lccq --count',
  run,
};

async function run(context: CommandContext): Promise<ExitStatus> {
  const { options } = context;
  const runDir = homeOf(context.env).run;
  const look = () => lookAround(runDir);
  if (options['untilIdle'] !== undefined) {
    const status = await alive(untilIdle(look, systemClock, limitMsOf(options['untilIdle'])));
    if (status === EXIT.unavailable) throw noneRuns(runDir);
    if (status === EXIT.tempfail) context.say(`still busy after ${String(options['untilIdle'])} s`);
    return status;
  }
  for (;;) {
    const looks = await look();
    if (!looks.some(one => 'status' in one) && options['watch'] !== true) throw noneRuns(runDir);
    const text = options['json'] === true ? formatJson(looks) : formatTable(looks);
    process.stdout.write(options['watch'] === true && process.stdout.isTTY ? CLEAR_SCREEN + text : text);
    if (options['watch'] !== true) return looks.every(one => 'status' in one) ? EXIT.ok : EXIT.someRejected;
    await alive(new Promise<void>(resolve => systemClock.after(WATCH_MS, resolve)));
  }
}

/** The clock's timers do not keep a process alive; waiting for one must. */
async function alive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, WATCH_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

function formatJson(looks: readonly Look[]): string {
  const daemons = Object.fromEntries(
    looks.map(look => [look.name, 'status' in look ? look.status : { problem: look.problem }]),
  );
  return `${JSON.stringify({ idle: isIdle(looks), daemons })}\n`;
}

function limitMsOf(value: unknown): number | undefined {
  if (value === true) return undefined;
  if (typeof value !== 'string' || !/^\d{1,7}(\.\d+)?$/.test(value))
    throw new LccError('usage', `--until-idle=${String(value)}: give a number of seconds`);
  return Number(value) * 1000;
}

function noneRuns(runDir: string): LccError {
  return new LccError('peer.unavailable', `no daemon answers below ${runDir}; start lccd, or set LCC_HOME`);
}
