/** lccstat(1): what each daemon of this LCC is doing, and its queue; or waiting until it is done. */
import { existsSync } from 'node:fs';
import type { Slots } from '../config/hours.js';
import type { Home } from '../config/home.js';
import { isDamaged } from '../db/sqlite/open.js';
import { AGE_MINUTES } from '../db/queue/ages.js';
import { readQueueShape, readQueueSummary, type QueueSummary } from '../db/queue/shape.js';
import { TruthReader } from '../db/truth/reader.js';
import type { Look } from '../daemon/ask.js';
import { consumerLook } from '../cu/consumer-look.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { isIdleWith, untilIdle, wordFor } from '../run/look/idle.js';
import { toldNow } from '../run/look/providers-now.js';
import { formatShape, formatSummary, stateOf } from '../run/look/queue.js';
import { ratesOf, type Moment } from '../run/look/rates.js';
import { isOutpost, isSpiderAlone, NewReasons, reasonsOf, standbyFor } from '../run/look/reasons.js';
import { fitScreen } from '../run/look/screen.js';
import { formatTruth, truthJson } from '../run/look/truth.js';
import { formatOverview } from '../run/look/table.js';
import { FIGURES } from './figures.js';
import { readLcc } from './lcc-db.js';
import { showUrl } from './lccstat-url.js';
import { looksOf } from './looks.js';
import { CONFIG_OPTION, configOf, numberOf, textOf, waitMsOf } from './options.js';
import { isTerminal, type CommandContext, type CommandSpec } from './run.js';

const WATCH_MS = 1000;
/** To the top, and there clear what is left of the line or the screen: no flicker. */
const HOME_SCREEN = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';
const SHOWN_PROVIDERS = 20;
const LOOKS_ELSEWHERE = ['queue', 'watch', 'untilIdle', 'cursor'];

export const command: CommandSpec = {
  name: 'lccstat',
  summary: 'Show what the Local Content Cache below $LCC_HOME is doing, and why when it does nothing.',
  options: [
    { flags: '--queue', help: 'the queue by provider and age in minutes, and the state of each provider' },
    {
      flags: '--limit <N>',
      help: `with --queue: providers shown, longest queues first (${SHOWN_PROVIDERS})`,
    },
    { flags: '--url <URL>', help: 'what became of one url: its provider, queue, last fetch, and what to do' },
    { flags: '--truth', help: 'what the announcements of each provider are worth, and what audits found' },
    { flags: '--json', help: 'one JSON object on one line' },
    { flags: '--watch', help: 'again every second, until interrupted' },
    {
      flags: '--until-idle [SECONDS]',
      help: 'wait until nothing is spooled, queued or being done: 0 then, 75 when SECONDS are over; a long wait is explained',
    },
    {
      flags: '--cursor <FILE>',
      help: 'with --until-idle: and until the consumer of this cursor has taken the last change',
    },
    CONFIG_OPTION,
  ],
  example: 'lccstat --until-idle=60 && lccq --count',
  run,
};

async function run(context: CommandContext): Promise<ExitStatus> {
  const { options } = context;
  if (options['limit'] !== undefined && options['queue'] !== true)
    throw new LccError('usage', '--limit goes with --queue: it says how many providers are shown');
  const config = configOf(context);
  const { home } = config;
  const url = textOf(options, 'url');
  if (url !== undefined) {
    alone('--url', options, ['truth', ...LOOKS_ELSEWHERE]);
    return showUrl(context, config, url);
  }
  if (options['truth'] === true) return showTruth(home, context);
  const slots = config.get('qm.slots');
  const look = () => looksOf(home);
  const waitMs = waitMsOf('--until-idle', options['untilIdle']);
  if (waitMs !== undefined) {
    for (const other of ['watch', 'queue', 'json'])
      if (options[other] === true)
        throw new LccError(
          'usage',
          `--until-idle and --${other}: give one of them; --until-idle prints nothing`,
        );
    const cursor = textOf(options, 'cursor');
    const taken = cursor === undefined ? undefined : consumerLook(home.db, cursor);
    const hindrances = (looks: readonly Look[]) => {
      const nowMs = context.clock.nowMs();
      const reasons = reasonsOf(looks, summaryOf(home, nowMs, slots, context), nowMs, FIGURES);
      return taken?.() === undefined && cursor !== undefined ? [...reasons, unreached(cursor)] : reasons;
    };
    const reasons = new NewReasons();
    const isLong = (looks: readonly Look[]) => {
      for (const reason of reasons.of(hindrances(looks))) context.say(`waiting: ${reason}`);
    };
    let last: readonly Look[] = [];
    const lookWithin = async (totalMs: number) => (last = await looksOf(home, totalMs));
    const status = await alive(untilIdle(lookWithin, context.clock, waitMs, isLong, taken));
    if (status === EXIT.unavailable) throw noneRuns(home.run);
    if (status === EXIT.tempfail) {
      context.say(`still busy after ${String(options['untilIdle'])} s`);
      for (const reason of hindrances(last)) context.say(`! ${reason}`);
    }
    return status;
  }
  if (options['cursor'] !== undefined)
    throw new LccError('usage', '--cursor goes with --until-idle: it says whose turn is waited for as well');
  const limit =
    numberOf(options, 'limit', 'give a number of providers, 1 or more', { max: 999_999 }) ?? SHOWN_PROVIDERS;
  const watch = options['watch'] === true;
  const show = options['queue'] === true ? queueText : overviewText;
  let before: Moment | undefined;
  for (;;) {
    const looks = await look();
    const here = looks.some(one => 'status' in one);
    if (!here && !watch && options['queue'] !== true) throw noneRuns(home.run);
    const now: Moment = { looks, atMs: context.clock.monotonicMs() };
    const text = await show({ home, slots, now, before, limit, json: options['json'] === true, context });
    write(context, text, watch, before === undefined);
    if (!watch) return looks.every(one => 'status' in one) ? EXIT.ok : EXIT.someRejected;
    before = now;
    await alive(new Promise<void>(resolve => context.clock.after(WATCH_MS, resolve)));
  }
}

function unreached(cursor: string): string {
  return existsSync(cursor)
    ? `${cursor} is not at the last change; what reads by it is at work, or does not run`
    : `${cursor} is not there: what reads by it has taken nothing yet, or runs in another folder, or not at all`;
}

/** Shows all providers; nothing else is asked or waited for. @throws LccError `usage` */
function showTruth(home: Home, context: CommandContext): ExitStatus {
  const { options } = context;
  alone('--truth', options, LOOKS_ELSEWHERE);
  const nowS = Math.floor(context.clock.nowMs() / 1000);
  const all = readLcc(home.db, db => new TruthReader(db).read(nowS));
  context.print(
    options['json'] === true ? `${JSON.stringify({ providers: truthJson(all) })}\n` : formatTruth(all),
  );
  return EXIT.ok;
}

/** @throws LccError `usage` where one of the others is given, too */
function alone(option: string, options: CommandContext['options'], others: readonly string[]): void {
  if (others.some(other => options[other] !== undefined && options[other] !== false))
    throw new LccError('usage', `${option} goes with --json alone`);
}

interface Sight {
  home: Home;
  slots: Slots;
  now: Moment;
  before: Moment | undefined;
  limit: number;
  json: boolean;
  context: CommandContext;
}

function overviewText({ home, slots, now, before, json, context }: Sight): string {
  const { looks } = now;
  const nowMs = context.clock.nowMs();
  const owner = standbyFor(looks);
  // A database that is here is of before.
  const queue = owner === undefined ? summaryOf(home, nowMs, slots, context) : undefined;
  const urls = queue?.urls ?? 0;
  const reasons = reasonsOf(looks, queue, nowMs, FIGURES);
  const rates = before && ratesOf(before, now);
  const answers = !looks.some(one => one.name === 'lccd-qm' && 'problem' in one);
  const summary = queue && formatSummary(queue, nowMs, answers);
  if (!json) {
    const outpost = isOutpost(looks, queue) || owner !== undefined;
    const elsewhere =
      owner !== undefined
        ? `this machine stands by: the queue is with ${owner}`
        : isSpiderAlone(looks)
          ? ONLY_SPIDER
          : ELSEWHERE;
    const line = summary ?? (outpost ? elsewhere : 'the queue cannot be read from here');
    return formatOverview(looks, wordFor(looks, urls, outpost), line, reasons, rates, FIGURES);
  }
  const daemons = Object.fromEntries(
    looks.map(one => [one.name, 'status' in one ? one.status : { problem: one.problem }]),
  );
  const idle = isIdleWith(looks, urls);
  return `${JSON.stringify({ idle, reasons, queue: queue ?? null, ...(rates && { rates }), daemons })}\n`;
}

async function queueText({ home, slots, limit, json, context }: Sight): Promise<string> {
  const told = await toldNow(home.run);
  const nowMs = context.clock.nowMs();
  const shape = readLcc(home.db, db => readQueueShape(db, Math.floor(nowMs / 1000), limit));
  if (!json) return formatShape(shape, told, nowMs, slots);
  const providers = shape.providers.map(provider => ({
    ...provider,
    fetching: told.get(provider.pid)?.fetching ?? 0,
    ...stateOf(provider, told.get(provider.pid) ?? {}, nowMs, slots),
  }));
  return `${JSON.stringify({ age_minutes: AGE_MINUTES, ...shape, providers })}\n`;
}

const ONLY_SPIDER = 'only the Spider runs here';
const ELSEWHERE = 'the Queue Manager is on another machine';

/** Undefined when the database cannot be read: the daemons may be seen by more people than the database. */
function summaryOf(
  home: Home,
  nowMs: number,
  slots: Slots,
  context: CommandContext,
): QueueSummary | undefined {
  try {
    return readLcc(home.db, db => readQueueSummary(db, nowMs, slots));
  } catch (error) {
    if (isDamaged(error)) context.complain(error.message);
    else if (context.verbose) context.say(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/** A person who watches sees one screen that changes; everything else gets one text after the other. */
function write(context: CommandContext, text: string, watch: boolean, first: boolean): void {
  if (!watch || !isTerminal(context.stdout)) {
    context.print(watch && !first && text.includes('\n\n') ? `\n${text}` : text);
    return;
  }
  const { columns, rows } = process.stdout;
  // A terminal that does not say how large it is says 0; half an object is none.
  const fitting = columns > 0 && rows > 0 && !text.startsWith('{') ? fitScreen(text, columns, rows) : text;
  context.print(HOME_SCREEN + fitting.replaceAll('\n', `${CLEAR_LINE}\n`) + CLEAR_LINE + CLEAR_BELOW);
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

function noneRuns(runDir: string): LccError {
  return new LccError('peer.unavailable', `no daemon answers below ${runDir}; start lccd, or set LCC_HOME`);
}
