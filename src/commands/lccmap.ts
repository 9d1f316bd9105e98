/** lccmap(8): homes of one LCC, and which of them has which provider. */
import { amount } from '../config/words.js';
import type { Config } from '../config/load.js';
import type { MappedHome, ProviderMap } from '../db/engine/map.js';
import type { Engine } from '../db/engine/engine.js';
import { readPids } from '../db/providers/listing.js';
import { keptOf } from '../daemon/open-kept.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { actionOf } from './actions.js';
import { readLcc } from './lcc-db.js';
import { CONFIG_OPTION, configOf, numberOf } from './options.js';
import { withMap } from './provider-map.js';
import type { CommandContext, CommandSpec } from './run.js';
import { MAX_SHARD } from '../config/shards.js';
import { EngineMoves, type Move } from '../db/engine/moves.js';

interface Given {
  map: ProviderMap;
  engine: Engine;
  stop: AbortSignal;
  context: CommandContext;
  config: Config;
  /** A number that was given, where the action has one. */
  number: number;
}

/** Action of each word, and what its number is of. */
const ACTIONS: Record<
  string,
  { number: '' | 'N' | 'PID'; action: (given: Given) => Promise<ExitStatus | void> }
> = {
  join: { number: '', action: join },
  'add-shard': { number: 'N', action: addShard },
  'close-shard': { number: 'N', action: given => setOpen(given, false) },
  'open-shard': { number: 'N', action: given => setOpen(given, true) },
  list: { number: '', action: list },
  where: { number: 'PID', action: where },
  move: { number: '', action: ({ engine, context, stop }) => move(engine, context, stop) },
};

export const command: CommandSpec = {
  name: 'lccmap',
  summary:
    'Homes of one LCC and their providers: join, add-shard, close-shard, open-shard, list, where, move.',
  operands: 'join|list|add-shard N|close-shard N|open-shard N|where PID|move',
  options: [
    { flags: '--json', of: ['list', 'where'], help: 'one JSON object a line' },
    { flags: '--pid <PID>', of: ['move'], help: 'the provider' },
    { flags: '--to <N>', of: ['move'], help: 'the home that it goes to' },
    { flags: '--cancel', of: ['move'], help: 'it stays, if it has not moved yet' },
    CONFIG_OPTION,
  ],
  example: 'lccmap list',
  async run(context) {
    const [word = '', ...more] = context.operands;
    const { number: of, action } = actionOf(ACTIONS, word);
    const [text = ''] = more;
    if (more.length !== (of === '' ? 0 : 1) || (of !== '' && !/^\d{1,15}$/.test(text)))
      throw new LccError('usage', `write lccmap ${word}${of === '' ? '' : ` ${of}`}`);
    const config = configOf(context);
    if (config.settings.store.url === '')
      throw new LccError(
        'config',
        'store.url is not set: an LCC without an engine is one home, and has no map',
      );
    const given = { context, config, number: Number(text) };
    return (
      (await withMap(config, context, (map, stop, engine) => action({ ...given, map, stop, engine }))) ??
      EXIT.ok
    );
  },
};

/** A row for each provider of this home: one that was added before there was an engine has none. */
async function join({ map, stop, context, config }: Given): Promise<void> {
  const { shard } = config.settings.cluster;
  const kept = await keptOf(config, context.clock);
  try {
    const pids = readLcc(config.home.db, readPids);
    const { taken, elsewhere } = await map.take(pids, shard, stop);
    const [other] = elsewhere;
    context.say(
      `home ${shard}: ${amount(taken.length, 'provider')} joined, ${pids.length - taken.length - elsewhere.size} were there`,
    );
    if (other !== undefined)
      throw new LccError(
        'data.refused',
        `${amount(elsewhere.size, 'provider')} of this home ${elsewhere.size === 1 ? 'is' : 'are'} of another home, too: provider ${other[0]} of home ${other[1]}; remove one of the two`,
      );
  } finally {
    kept.close();
  }
}

async function addShard(given: Given): Promise<void> {
  const { number, map, stop } = given;
  const homes = await map.list(stop);
  const home = homes.find(({ shard }) => shard === number);
  if (home === undefined)
    throw new LccError(
      'usage',
      `the engine has no home ${number}; set cluster.shard = ${number} in its lcc.toml, and say lcckeep init there`,
    );
  if (home.owner === '')
    throw new LccError('try.later', `no machine owns home ${number}; start its lccd first`);
  await setOpen(given, true);
}

async function setOpen({ number, map, stop, context }: Given, isOpen: boolean): Promise<void> {
  if (!(await map.setOpen(number, isOpen, stop)))
    throw new LccError('usage', `the engine has no home ${number}; lccmap list shows those there are`);
  context.say(
    `home ${number} takes ${isOpen ? 'new providers' : 'no new providers any more; it keeps those that it has'}`,
  );
}

async function list({ map, engine, stop, context }: Given): Promise<void> {
  const homes = await map.list(stop);
  const isJson = context.options['json'] === true;
  const moves = await moveLines(engine, isJson, stop);
  if (isJson) return print(context, [...homes.map(jsonOf), ...moves]);
  const lines = homes.map(({ shard, owner, isOpen, providers, moving }) =>
    [shard, owner === '' ? '-' : owner, providers, moving, isOpen ? 'yes' : 'no'].join('\t'),
  );
  print(context, ['HOME\tOWNER\tPROVIDERS\tMOVING\tNEW', ...lines, ...moves]);
}

const jsonOf = ({ shard, owner, epoch, isOpen, providers, moving }: MappedHome) =>
  JSON.stringify({ shard, owner: owner === '' ? null : owner, epoch, open: isOpen, providers, moving });

async function where({ number: pid, map, stop, context }: Given): Promise<ExitStatus> {
  const located = (await map.find([pid], stop)).get(pid);
  const home = located && (await map.homes(stop)).find(({ shard }) => shard === located.shard);
  if (context.options['json'] === true) {
    const { shard = null, state = null } = located ?? {};
    print(context, [JSON.stringify({ pid, shard, state, owner: home?.owner || null })]);
  } else if (located !== undefined)
    print(context, [
      `home ${located.shard}, ${home === undefined || home.owner === '' ? 'owned by no machine' : `owned by ${home.owner}`}${located.state === 'moving' ? ', moving' : ''}`,
    ]);
  if (located === undefined) context.say(`no home has provider ${pid}`);
  return located === undefined ? EXIT.someRejected : EXIT.ok;
}

function print(context: CommandContext, lines: readonly string[]): void {
  context.print(lines.map(line => `${line}\n`).join(''));
}

/** @throws LccError `usage`, `try.later` as `EngineMoves` */
async function move(engine: Engine, context: CommandContext, stop: AbortSignal): Promise<void> {
  const { options } = context;
  const pid = numberOf(options, 'pid', "give the provider's number, 1 or more");
  const to = numberOf(options, 'to', 'give the number of a home, as lccmap list shows it', {
    min: 0,
    max: MAX_SHARD,
  });
  const isCancel = options['cancel'] === true;
  if (pid === undefined || (to === undefined) !== isCancel)
    throw new LccError('usage', 'write lccmap move --pid=PID --to=N, or lccmap move --pid=PID --cancel');
  const moves = new EngineMoves(engine);
  if (to === undefined) {
    const { src } = await moves.cancel(pid, stop);
    context.say(
      `provider ${pid} stays with home ${src}, which goes on with it soon; lccmap list shows it until then`,
    );
    return;
  }
  const { src } = await moves.ask(pid, to, stop);
  context.say(`provider ${pid} moves from home ${src} to home ${to}; lccmap list says how far it has come`);
}

/** Lines of `lccmap list`. */
async function moveLines(engine: Engine, isJson: boolean, stop: AbortSignal): Promise<string[]> {
  const moves = await new EngineMoves(engine).all(stop);
  return moves.map(isJson ? moveJson : moveText);
}

const moveJson = ({ pid, src, dst, stage }: Move) => JSON.stringify({ pid, src, dst, stage });
const moveText = ({ pid, src, dst, stage }: Move) =>
  `provider ${pid} moves from home ${src} to home ${dst}: ${stage}`;
