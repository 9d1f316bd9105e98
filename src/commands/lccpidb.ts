/** lccpidb(8): providers and their roots. Works while the daemons run; they see every change at once. */
import type { Slots } from '../config/hours.js';
import type { Config } from '../config/load.js';
import { limitText } from '../config/settings/index.js';
import {
  addProvider,
  addRoots,
  changeLogin,
  changePassword,
  changeProvider,
  readLoginUser,
  readAbsentPages,
  readErrorCodes,
  readProvider,
  readProviders,
  removeRoots,
  type Provider,
  type ProviderTerms,
} from '../db/providers/pidb.js';
import { requireNoStandby } from '../daemon/open-kept.js';
import { crawlersOf } from '../db/providers/crawlers.js';
import { addSites } from '../db/providers/site-list.js';
import { keepPriority, setTruthEffects } from '../db/truth/mode.js';
import { MovingStore } from '../db/moves/moving.js';
import { GivenRoots, type GivenRoot } from '../db/providers/given-roots.js';
import { PushDays } from '../db/truth/pushes.js';
import { TruthReader } from '../db/truth/reader.js';
import { noteChange } from '../db/sqlite/restored.js';
import { openDatabase, openReadOnly, readingError, type Db } from '../db/sqlite/open.js';
import { readProviderQueue } from '../db/queue/shape.js';
import { keepMemoryOutOfCores } from '../lib/core-dumps.js';
import { makeDirectoryDurably } from '../lib/durable.js';
import { EXIT, LccError, messageOf, reasonOf, type ExitStatus } from '../lib/errors.js';
import { firstLineOf } from '../lib/first-line.js';
import { READ_AS_UTC, zoneNotUnderstood } from '../lib/zone.js';
import { generatePassword, hashPassword, NO_PASSWORD } from '../lib/password.js';
import { failuresNow, retriesNow, waitingNow } from '../run/look/providers-now.js';
import { rootProblem } from '../wire/roots.js';
import { actionOf } from './actions.js';
import { keptAction } from './engine-wait.js';
import { CONFIG_OPTION, configOf, flagOf, numberOf } from './options.js';
import { freeMapped, withFreeNumbers, withNumbers } from './provider-map.js';
import { TERM_OPTIONS, termsOf, warningsOf } from './pidb-terms.js';
import { readSites } from './pidb-sites.js';
import { remove } from './pidb-remove.js';
import { providerLine, providerText } from './pidb-text.js';
import type { CommandContext, CommandSpec } from './run.js';

type Action = (db: Db, context: CommandContext, slots: Slots, config: Config) => void | Promise<void>;

/** How it opens the database, and what it does there. */
interface Act {
  write: boolean;
  action: Action;
}

const ACTIONS: Record<string, Act> = {
  add: { write: true, action: add },
  set: { write: true, action: set },
  passwd: { write: true, action: passwd },
  rm: {
    write: true,
    action(db, context, _slots, config) {
      remove(db, pidOf(context), context, config.home.unsSpool);
    },
  },
  show: { write: false, action: show },
  list: { write: false, action: list },
  'root add': { write: true, action: addRootsOf },
  'root rm': {
    write: true,
    action(db, context) {
      const pid = pidOf(context);
      removeRoots(db, pid, textsOf(context, 'root'));
      if (readProvider(db, pid)?.roots.length === 0)
        context.say(`provider ${pid} has no root left: nothing is fetched for it; lccpidb root add`);
    },
  },
};

export const command: CommandSpec = {
  name: 'lccpidb',
  summary: 'Providers of this LCC and their roots: add, set, passwd, show, list, rm, root add, root rm.',
  operands: 'add|set|passwd|show|list|rm|root add|root rm',
  options: [
    {
      flags: '--pid <N>',
      of: ['add', 'set', 'passwd', 'show', 'rm', 'root'],
      help: 'the provider',
      once: true,
    },
    {
      flags: '--root <URL>',
      of: ['add', 'root'],
      help: 'what it may have fetched: URLs below URL; may be repeated',
      repeat: true,
    },
    {
      flags: '--sites <FILE>',
      of: ['add'],
      help: 'a provider for each host or URL in FILE; - = standard input',
    },
    { flags: '--pid-from <N>', of: ['add'], help: 'their first number' },
    ...TERM_OPTIONS.map(option => ({ ...option, of: ['add', 'set'] })),
    {
      flags: '--truth <ON-OR-OFF>',
      of: ['set'],
      help: 'whether its score of truthfulness has effects; off: it is shown only',
    },
    {
      flags: '--loginfile <FILE>',
      of: ['add', 'set'],
      help: 'file whose first line is the user:password for its site; - = standard input; none = no login',
    },
    {
      flags: '--purge [COUNT]',
      of: ['rm'],
      help: 'remove all that it has, too; COUNT urls, asked for where it is missing',
    },
    { flags: '--json', of: ['show', 'list'], help: 'one JSON object a line' },
    CONFIG_OPTION,
  ],
  example: 'lccpidb add --pid=1 --root=http://www.example.org/docs/ > site.pwd',
  run,
};

async function run(context: CommandContext): Promise<ExitStatus> {
  keepMemoryOutOfCores();
  const words = context.operands.join(' ');
  const chosen = actionOf(ACTIONS, words);
  const config = configOf(context);
  if (!chosen.write) {
    await requireNoStandby(config.home.run);
    await act(chosen, context, config);
  } else await keptAction(context, config, 'lcc', () => act(chosen, context, config));
  if (words === 'rm') await freeMapped(config, context, pidOf(context));
  return EXIT.ok;
}

async function act({ write, action }: Act, context: CommandContext, config: Config): Promise<void> {
  if (write) makeDirectoryDurably(config.home.dir, 0o750);
  let db: Db | undefined;
  try {
    db = write ? openDatabase(config.home.db) : openReadOnly(config.home.db);
    if (write && typeof context.options['pid'] === 'string')
      new MovingStore(db).requireStaying(pidOf(context));
    await action(db, context, config.get('qm.slots'), config);
    if (write) noteChange(db, config.home.db);
  } catch (error) {
    throw readingError(config.home.db, error);
  } finally {
    db?.close();
  }
}

async function add(db: Db, context: CommandContext, slots: Slots, config: Config): Promise<void> {
  const firstPid = config.get('rs.first_pid');
  const { sites } = context.options;
  if (typeof sites === 'string') return addList(db, context, { slots, config, sites, endPid: firstPid });
  const pid = pidOf(context);
  if (pid >= firstPid) throw tooHigh('pid', pid, firstPid);
  if (context.options['pidFrom'] !== undefined)
    throw new LccError('usage', '--pid-from is for --sites; --pid names one provider');
  const roots = rootsOf(context);
  const terms = termsOf(context.options, slots);
  const login = loginOf(context);
  // Nobody announces anything of a site that is crawled, until its owner does.
  const password = terms.spider === true ? undefined : generatePassword();
  const hashed = password === undefined ? NO_PASSWORD : hashPassword(password);
  await withNumbers(config, context, [pid], () => addProvider(db, pid, hashed, terms, roots));
  if (typeof login === 'string') changeLogin(db, pid, login);
  warn(context, terms, slots, config);
  sayCrawlers(db, context, pid, roots);
  if (password === undefined)
    return context.say(
      `provider ${pid} added without a password: nobody announces for it until lccpidb passwd --pid=${pid} gives its owner one`,
    );
  context.say(`provider ${pid} added; its password follows and is shown only now`);
  showPassword(context, pid, password);
}

function tooHigh(option: string, pid: number, firstPid: number): LccError {
  const first = limitText('rs.first_pid', firstPid);
  return new LccError(
    'usage',
    `--${option}=${pid}: numbers from ${first} on are of sites that register by themselves; give a lower one`,
  );
}

/** @throws LccError `input.missing`, `usage` */
async function addList(
  db: Db,
  context: CommandContext,
  { slots, config, sites, endPid }: { slots: Slots; config: Config; sites: string; endPid: number },
): Promise<void> {
  for (const option of ['pid', 'root', 'loginfile']) {
    const given = context.options[option];
    if (given !== undefined && !(Array.isArray(given) && given.length === 0))
      throw new LccError('usage', `--${option} is for one provider; give --pid-from beside --sites`);
  }
  const firstPid = pidOf(context, 'pidFrom');
  if (firstPid >= endPid) throw tooHigh('pid-from', firstPid, endPid);
  const terms = termsOf(context.options, slots);
  const list = readSites(sites, terms);
  const range = { firstPid, endPid, most: list.length };
  const added = await withFreeNumbers(config, context, range, mayTake =>
    addSites(db, list, { ...range, mayTake }),
  );
  const lines = added.map(({ pid, root, isNew }) => `${pid}\t${root}\t${isNew ? 'new' : 'there'}\n`);
  context.print(lines.join(''));
}

function set(db: Db, context: CommandContext, slots: Slots, config: Config): void {
  const pid = pidOf(context);
  const terms = termsOf(context.options, slots);
  const login = loginOf(context);
  const hasEffects = truthOf(context);
  if (Object.keys(terms).length === 0 && login === undefined && hasEffects === undefined)
    throw new LccError('usage', 'nothing to set; give a term, such as --priority=2');
  const isRoomier = hasMoreRoom(readProvider(db, pid), terms);
  changeProvider(db, pid, terms);
  if (terms.priority !== undefined) keepPriority(db, pid);
  if (hasEffects !== undefined) setTruthEffects(db, pid, hasEffects);
  if (isRoomier) sayRefused(context, pid, 'for the quota');
  if (login !== undefined) changeLogin(db, pid, login ?? undefined);
  warn(context, terms, slots, config);
}

/** @throws LccError `usage` */
function truthOf({ options }: CommandContext): boolean | undefined {
  const word = options['truth'];
  if (word === undefined) return undefined;
  if (word === 'on' || word === 'off') return word === 'on';
  throw new LccError('usage', `--truth=${String(word)}: give on or off`);
}

/** True if more may be stored of a provider that may have announced too much: nobody remembers what was
 * refused. */
function hasMoreRoom(
  provider: Provider | undefined,
  { filesmax = 0, spacemax = 0 }: Partial<ProviderTerms>,
): boolean {
  if (provider === undefined || provider.lastset === 0) return false;
  return filesmax > provider.filesmax || spacemax > provider.spacemax;
}

function addRootsOf(db: Db, context: CommandContext): void {
  const pid = pidOf(context);
  const roots = rootsOf(context);
  addRoots(db, pid, roots);
  const { fullsetwanted, lastset = 0 } = readProvider(db, pid) ?? {};
  if (fullsetwanted === 'root proven again')
    context.say(
      `provider ${pid} is asked for a full set: what it announced below a root given up is not known`,
    );
  else if (lastset !== 0) sayRefused(context, pid, 'for being outside its roots');
  sayCrawlers(db, context, pid, roots);
}

/** Nobody remembers what was refused. */
function sayRefused(context: CommandContext, pid: number, why: string): void {
  context.say(
    `urls that were refused ${why}, if any, are announced again after lccctl want-full --pid=${pid}, or when they change`,
  );
}

/** Pages of two providers are two pages. */
function sayCrawlers(db: Db, context: CommandContext, pid: number, roots: readonly string[]): void {
  for (const root of roots)
    for (const crawler of crawlersOf(db, root))
      if (crawler !== pid)
        context.say(
          `--root=${root}: provider ${crawler} crawls it as well, pages are fetched and kept twice; to end that: lccpidb set --pid=${crawler} --spider=no`,
        );
}

function warn(context: CommandContext, terms: Partial<ProviderTerms>, slots: Slots, config: Config): void {
  const perHost = config.get('qm.max_connections_per_host');
  for (const warning of warningsOf(terms, { slots, perHost })) context.say(warning);
  const zone = terms.timeofday === undefined ? undefined : zoneNotUnderstood();
  if (zone !== undefined) context.say(`--timeofday: TZ=${zone} ${READ_AS_UTC}`);
}

function passwd(db: Db, context: CommandContext): void {
  const pid = pidOf(context);
  const password = generatePassword();
  changePassword(db, pid, hashPassword(password));
  context.say(`the new password of provider ${pid} follows and is shown only now; the old one is void`);
  showPassword(context, pid, password);
}

/** @throws LccError naming what makes another one: what could not be shown is known to nobody */
function showPassword(context: CommandContext, pid: number, password: string): void {
  try {
    context.print(`${password}\n`);
  } catch (error) {
    throw new LccError(
      'io',
      `the password could not be written to standard output (${messageOf(error)}) and is lost; lccpidb passwd --pid=${pid} makes another one`,
      { cause: error },
    );
  }
}

async function show(db: Db, context: CommandContext, slots: Slots, config: Config): Promise<void> {
  const { home } = config;
  const pid = pidOf(context);
  const provider = readProvider(db, pid);
  const standing = readProviderQueue(db, pid);
  if (provider === undefined || standing === undefined)
    throw new LccError('usage', `no provider ${pid}; see lccpidb list`);
  const givenroots = new GivenRoots(db).of(pid);
  if (context.options['json'] === true) {
    context.print(jsonLine({ ...provider, givenroots }));
    return;
  }
  const nowMs = context.clock.nowMs();
  const isLeftAlone = standing.backoffuntil * 1000 > nowMs;
  const failure = isLeftAlone ? (await failuresNow(home.run)).get(pid) : undefined;
  const retryAtMs = standing.failed > 0 ? (await retriesNow(home.run)).get(pid) : undefined;
  const wait = (await waitingNow(home.run)).get(pid);
  const codes = readErrorCodes(db, pid);
  context.print(
    providerText(provider, readLoginUser(db, pid), standing, codes, {
      nowMs,
      slots,
      fullSetPeriodMs: config.get('qm.full_set_period_ms'),
      failure,
      retryAtMs,
      wait,
      givenroots,
      truth: new TruthReader(db).read(Math.floor(nowMs / 1000), pid)[0],
      pushes: new PushDays(db).of(pid, Math.floor(nowMs / 1000)),
      absent: readAbsentPages(db, pid),
    }),
  );
}

function list(db: Db, context: CommandContext): void {
  for (const provider of readProviders(db)) {
    context.print(context.options['json'] === true ? jsonLine(provider) : providerLine(provider));
  }
}

function jsonLine(provider: Provider & { givenroots?: readonly GivenRoot[] }): string {
  const { password: _secret, ...rest } = provider;
  return `${JSON.stringify(rest)}\n`;
}

function pidOf({ options }: CommandContext, name: 'pid' | 'pidFrom' = 'pid'): number {
  const advice =
    name === 'pid'
      ? "give the provider's number, 1 or more"
      : 'give the number of the first of these providers, 1 or more';
  const pid = numberOf(options, name, advice);
  if (pid === undefined) throw new LccError('usage', `${flagOf(name)}=N is missing: ${advice}`);
  return pid;
}

/**
 * The login in `--loginfile`: `user:password`, null to have none, undefined when it is not given. Not an
 * option by itself: everybody can see what a command was given.
 * @throws LccError `input.missing`, or `config` for a first line that is no login
 */
function loginOf({ options }: CommandContext): string | null | undefined {
  const file = options['loginfile'];
  if (typeof file !== 'string') return undefined;
  if (file === 'none') return null;
  let login: string | undefined;
  try {
    login = firstLineOf(file === '-' ? 0 : file);
  } catch (error) {
    throw new LccError('input.missing', `--loginfile=${file}: ${reasonOf(error)}`);
  }
  if (login === undefined || !/^[^:\p{Cc}]+:\P{Cc}*$/u.test(login) || login.length > 1000)
    throw new LccError('config', `--loginfile=${file}: write user:password in its first line`);
  return login;
}

/** @throws LccError `usage` when none is given or one is unusable */
function rootsOf(context: CommandContext): string[] {
  const roots = textsOf(context, 'root');
  for (const root of roots) {
    const problem = rootProblem(root);
    if (problem !== undefined)
      throw new LccError(
        'usage',
        `--root=${root}: it ${problem}; give an absolute http or https URL without user, query or fragment, such as http://www.example.org/docs/`,
      );
  }
  return roots;
}

function textsOf(context: CommandContext, option: string): string[] {
  const value = context.options[option];
  const texts = Array.isArray(value) ? value : [];
  if (texts.length === 0) throw new LccError('usage', `--${option}=URL is missing`);
  return texts;
}
