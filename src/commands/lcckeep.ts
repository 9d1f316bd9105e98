/** lcckeep(8): the operator's hand on a kept home. */
import { existsSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { ownName } from '../config/cluster.js';
import { isKeptName, KEPT_NAMES, keptPath, LOGINS } from '../config/kept.js';
import type { Config } from '../config/types.js';
import { controlSocket, tell } from '../daemon/ask.js';
import { keeperLock } from '../daemon/keeper-link.js';
import { keptOf } from '../daemon/open-kept.js';
import { Engine } from '../db/engine/engine.js';
import { EngineLedger } from '../db/engine/engine-ledger.js';
import { HomeRows, makeTables, standbyState, type HomeState } from '../db/engine/home-rows.js';
import { engineAccount } from '../db/engine/nodes.js';
import { keepNoteOf, readKeepNote } from '../keep/note.js';
import { HomeCopy } from '../keep/copy.js';
import { noteOf } from '../keep/copy-note.js';
import { differingPages } from '../keep/verify.js';
import { stayFor } from '../lib/clock.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { isLocked } from '../lib/lock.js';
import { silentLog } from '../lib/log.js';
import { actionOf } from './actions.js';
import { sayingWait, UNSHIPPED } from './engine-wait.js';
import { CONFIG_OPTION, configOf, textOf } from './options.js';
import type { CommandContext, CommandSpec } from './run.js';

/** Longest wait for an engine that does not answer. */
const ENGINE_MS = 15_000;
/** Longest wait for the machine's work to end, and the engine to take the rest. */
const RELEASE_MS = 120_000;
const WATCH_MS = 1000;

interface Call {
  context: CommandContext;
  config: Config;
  engine: Engine;
  rows: HomeRows;
  operands: readonly string[];
  /** Connections that are waited for. */
  engines: Engine[];
  /** Aborted when one of them has not answered in time. */
  stop: AbortSignal;
}

type Verb = (call: Call) => Promise<ExitStatus>;

const VERBS: Record<string, Verb> = { init, status, release, verify: verifyAll, restore, leave };

export const command: CommandSpec = {
  name: 'lcckeep',
  summary:
    'Have the databases of this LCC kept in an engine, look at it, hand the LCC over to another machine.',
  operands: 'init|status|release|verify|restore NAME FILE|leave',
  options: [
    { flags: '--again', of: ['init'], help: 'this home takes the place of what the engine has' },
    { flags: '--user <NAME>', of: ['init'], help: 'the account that makes tables (that of store.url)' },
    {
      flags: '--password-file <FILE>',
      of: ['init'],
      help: 'the password of that account (store.password_file)',
    },
    { flags: '--json', of: ['status'], help: 'one line of JSON' },
    { flags: '--watch', of: ['status'], help: 'again each second, until it is interrupted' },
    CONFIG_OPTION,
  ],
  example: 'lcckeep status',
  run,
};

async function run(context: CommandContext): Promise<ExitStatus> {
  const [word = '', ...operands] = context.operands;
  const verb = actionOf(VERBS, word);
  if (operands.length !== (word === 'restore' ? 2 : 0))
    throw new LccError(
      'usage',
      word === 'restore' ? 'lcckeep restore: give NAME and FILE' : `lcckeep ${word} takes no operands`,
    );
  const config = configOf(context);
  const { store, cluster } = config.settings;
  if (store.url === '')
    throw new LccError(
      'config',
      'store.url is not set: this LCC has no engine; lcc-cluster(7) has the steps',
    );
  const { clock } = context;
  const engine = new Engine(engineAccount(store), { clock, log: silentLog });
  const over = new AbortController();
  const engines = [engine];
  const away = () => engines.map(each => each.away).find(each => each !== undefined);
  const watch = setInterval(() => {
    if (clock.nowMs() - (away()?.sinceMs ?? Infinity) > ENGINE_MS) over.abort();
  }, WATCH_MS);
  const rows = new HomeRows(engine, cluster.shard);
  try {
    const done = verb({ context, config, engine, rows, operands, engines, stop: over.signal });
    return await sayingWait(context, () => away()?.reason, done);
  } catch (error) {
    if (!over.signal.aborted) throw error;
    throw new LccError('try.later', `store.url: the engine does not answer: ${away()?.reason}`);
  } finally {
    clearInterval(watch);
    engine.close();
  }
}

async function init({ context, config, rows, engines, stop }: Call): Promise<ExitStatus> {
  const { options, clock } = context;
  const { store, cluster } = config.settings;
  const user = textOf(options, 'user');
  const account = engineAccount(
    { ...store, passwordFile: textOf(options, 'passwordFile') ?? store.passwordFile },
    user,
  );
  const maker = new Engine(account, { clock, log: silentLog });
  engines.push(maker);
  await makeTables(maker, stop).finally(() => maker.close());
  const noteFile = keepNoteOf(config.home.dir);
  const note = readKeepNote(noteFile);
  const seen = { epoch: note?.epoch ?? 0, n: Math.max(0, ...(note?.n.values() ?? [])) };
  const machine = ownName(cluster);
  await rows.record(machine, options['again'] === true, seen, stop);
  rmSync(noteFile, { force: true });
  context.say(
    `shard ${cluster.shard} is the home of ${machine}; start lccd, or restart it: it is kept once lcckeep status shows a base of lcc`,
  );
  return EXIT.ok;
}

async function status(call: Call): Promise<ExitStatus> {
  const { context, config, rows, stop } = call;
  for (;;) {
    const state = await rows.state(stop);
    const own = await tell(controlSocket(config.home.run, 'lccd-keep'), 'status', WATCH_MS).catch(() => ({}));
    const keeper = Object(own) as Record<string, unknown>;
    if (context.options['json'] === true)
      context.print(`${JSON.stringify({ shard: config.settings.cluster.shard, ...state, keeper })}\n`);
    else for (const line of linesOf(state, keeper, config)) context.print(`${line}\n`);
    if (context.options['watch'] !== true) return isWell(state) ? EXIT.ok : EXIT.someRejected;
    await stayFor(context.clock, WATCH_MS, stop);
  }
}

function isWell({ home, standbys }: HomeState): boolean {
  const isOwned = home !== undefined && home.owner !== '';
  return isOwned && standbys.some(each => standbyState(each) === 'complete');
}

function linesOf(
  { home, files, standbys }: HomeState,
  keeper: Record<string, unknown>,
  config: Config,
): string[] {
  const { shard } = config.settings.cluster;
  if (home === undefined) return [`shard ${shard}: nothing in the engine; make it: lcckeep init`];
  const age = keeper['beat_age'];
  const beat = typeof age === 'number' ? `, beat ${age.toFixed(1)} s ago` : '';
  const unshipped = keeper['owner'] === true ? [`unshipped: ${String(keeper['unshipped_bytes'])} bytes`] : [];
  return [
    `shard ${shard} of LCC ${home.lcc}, epoch ${home.epoch}`,
    `owner: ${home.owner === '' ? 'none' : home.owner}${beat}`,
    ...unshipped,
    ...files.map(({ name, n, base }) =>
      n === 0
        ? `${name}: nothing yet`
        : `${name}: shipment ${n}${name === LOGINS ? '' : base === 0 ? ', no base yet' : `, base ${base}`}`,
    ),
    ...(standbys.length === 0 ? ['standby: none'] : standbys.map(standbyLine)),
  ];
}

function standbyLine(standby: HomeState['standbys'][number]): string {
  const { machine, behind, age } = standby;
  const isAway = standbyState(standby) === 'away';
  const words = isAway ? 'away' : behind === 0 ? 'has all' : `${behind} bytes to copy`;
  return `standby: ${machine}, ${words}, ${age} s ago`;
}

/** lccd ends the work in order, and has its keeper give the home up. */
async function release({ context, config }: Call): Promise<ExitStatus> {
  context.say('the work of this machine ends in order, and the rest goes into the engine');
  await tell(controlSocket(config.home.run, 'lccd'), 'release', RELEASE_MS);
  context.say('handed over; the next machine takes the home');
  return EXIT.ok;
}

async function verifyAll({ context, config, engine, stop }: Call): Promise<ExitStatus> {
  const { clock } = context;
  const { home, settings } = config;
  const ledger = new EngineLedger(engine, settings.cluster.shard);
  const kept = isLocked(keeperLock(home.run)) ? await keptOf(config, clock) : undefined;
  let isSame = true;
  try {
    for (const name of KEPT_NAMES) {
      const path = keptPath(home.dir, name);
      if (!existsSync(path)) continue;
      const state = await ledger.state(name, stop);
      if (state === undefined || state.base === 0) continue;
      const settled = async () => kept && sayingWait(context, () => UNSHIPPED, kept.shipped(name));
      const differing = await differingPages({ name, path, ledger }, settled, stop);
      const first = differing.slice(0, 10).join(', ');
      context.print(
        differing.length === 0
          ? `${name}: as the engine has it\n`
          : `${name}: ${differing.length} pages are not as the engine has them: ${first}\n`,
      );
      isSame &&= differing.length === 0;
    }
  } finally {
    kept?.close();
  }
  return isSame ? EXIT.ok : EXIT.dataerr;
}

async function restore({ context, config, engine, operands, stop }: Call): Promise<ExitStatus> {
  const [name = '', file = ''] = operands;
  if (!isKeptName(name))
    throw new LccError('usage', `"${name}" is no database; give one of ${KEPT_NAMES.join(', ')}`);
  const path = resolve(file);
  if (existsSync(path)) throw new LccError('output.create', `${file}: is there already; name another file`);
  const ledger = new EngineLedger(engine, config.settings.cluster.shard);
  await new HomeCopy({ name, path, ledger, clock: context.clock }).finish(stop);
  rmSync(noteOf(path), { force: true });
  return EXIT.ok;
}

async function leave({ context, config, rows, stop }: Call): Promise<ExitStatus> {
  const machine = ownName(config.settings.cluster);
  if (isLocked(keeperLock(config.home.run)))
    throw new LccError('try.later', 'lccd-keep runs; stop lccd first, on the standbys before the owner');
  const { home } = await rows.state(stop);
  if (home !== undefined && home.owner !== machine)
    throw new LccError(
      'data.refused',
      `${home.owner === '' ? 'no machine' : home.owner} owns the home; this one, ${machine}, has no complete one: do it there`,
    );
  await rows.remove(stop);
  rmSync(keepNoteOf(config.home.dir), { force: true });
  context.say(
    'the engine has nothing of this home any more; remove store.url from lcc.toml, then start lccd',
  );
  return EXIT.ok;
}
