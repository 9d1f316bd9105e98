/** lccrs(8): the operator's hand on registration. Works while lccd-rs runs, and while it does not. */
import { existsSync } from 'node:fs';
import type { Config } from '../config/load.js';
import { announcersOf, crawlersOf } from '../db/providers/crawlers.js';
import { readProvider } from '../db/providers/pidb.js';
import { readRegisteredPids } from '../db/providers/registered.js';
import { RsDatabase } from '../db/rs/database.js';
import { directoriesOf, type Registration, type RegistrationState } from '../db/rs/registrations.js';
import { PushDays } from '../db/truth/pushes.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { oneLine } from '../lib/one-line.js';
import { rsOptions } from '../rs/options.js';
import { pushView, type PushView } from '../rs/push/shown.js';
import { MOST_TERMS, termsAbove } from '../wire/terms.js';
import { Transitions } from '../rs/transitions.js';
import type { RsTerms } from '../wire/qm-rs.js';
import { actionOf } from './actions.js';
import { readLcc } from './lcc-db.js';
import { keptAction } from './engine-wait.js';
import { askOthers, haveOthers, providerElsewhere } from './other-homes.js';
import { CONFIG_OPTION, configOf, numberOf } from './options.js';
import { TERM_OPTIONS, termsOf } from './pidb-terms.js';
import { feedActionOf, type Given } from './rs-feeds.js';
import { changeOperators } from './rs-operators.js';
import { testMail } from './rs-mail.js';
import {
  announcedText,
  auditLine,
  mailLine,
  pushesText,
  registrationLine,
  registrationText,
  shownMail,
  type OtherProviders,
} from './rs-text.js';
import type { CommandContext, CommandSpec } from './run.js';

/** Status, where it is not that all went well. */
type Done = ExitStatus | void;

/** Action of each word, its operands, and whether it writes. */
const ACTIONS: Record<
  string,
  { operand: string; write?: true; action: (given: Given) => Done | Promise<Done> }
> = {
  list: { operand: '', action: list },
  show: { operand: 'ID or --pid=N', action: show },
  approve: { operand: 'ID', write: true, action: approve },
  refuse: { operand: 'ID', write: true, action: refuse },
  audit: { operand: '', action: audit },
  backup: { operand: 'FILE', action: backup },
  mail: { operand: '', action: waitingMails },
};

const SHOWN_ROWS = 100;

/** Terms that an approval may give. */
const TERMS = ['--filesmax', '--spacemax', '--fullsetsallowed', '--bandwidth', '--priority'];

export const command: CommandSpec = {
  name: 'lccrs',
  summary:
    'Sites that register by themselves: list, show, approve, refuse, audit, backup; their feeds; operators of their pages, mail.',
  operands:
    'list|show ID|approve ID|refuse ID|audit|backup FILE|operator add NAME|operator rm NAME|operator list|feed add URL|feed rm URL|feed list|mail',
  options: [
    { flags: '--all', of: ['list'], help: 'those that are over as well' },
    {
      flags: '--differs',
      of: ['list'],
      help: 'providers that only one of rs.db and lcc.db knows; status 1 if there are any',
    },
    ...TERM_OPTIONS.filter(({ flags }) => TERMS.includes(flags.split(' ', 1)[0] ?? '')).map(option => ({
      ...option,
      of: ['approve'],
    })),
    { flags: '--reason <TEXT>', of: ['refuse'], help: 'what the applicant is told' },
    {
      flags: '--pwdfile <FILE>',
      of: ['operator add'],
      help: 'where the password goes, instead of the standard output',
    },
    { flags: '--test <ADDRESS>', of: ['mail'], help: 'send one there, and say what the server answers' },
    {
      flags: '--pid <N>',
      of: ['audit', 'feed', 'show'],
      help: 'of this provider; with show what was pushed of it',
    },
    {
      flags: '--every <TIME>',
      of: ['feed add'],
      help: 'time between two polls, 1min to 1d',
      default: '30min',
    },
    {
      flags: '--limit <N>',
      of: ['list', 'audit', 'mail'],
      help: 'the last N; with mail the oldest N',
      default: String(SHOWN_ROWS),
    },
    { flags: '--json', of: ['list', 'show', 'audit', 'feed list', 'mail'], help: 'one JSON object a line' },
    CONFIG_OPTION,
  ],
  example: 'lccrs list && lccrs approve 3 --filesmax=50000',
  run,
};

function run(context: CommandContext): ExitStatus | Promise<ExitStatus> {
  const [word, operand] = context.operands;
  if (word === 'mail' && context.options['test'] !== undefined)
    return testMail(context, configOf(context)).then(() => EXIT.ok);
  const kept = (config: Config, write: true | undefined, work: () => ExitStatus | Promise<ExitStatus>) =>
    write === true ? keptAction(context, config, 'rs', work) : work();
  if (word === 'operator') {
    const config = configOf(context);
    return kept(config, operand === 'list' ? undefined : true, () => {
      changeOperators(context, config);
      return EXIT.ok;
    });
  }
  const { write, action, ...chosen } = word === 'feed' ? feedActionOf(context) : chosenOf(context);
  const config = configOf(context);
  return kept(config, write, () =>
    using(open(config, write), db => action({ db, context, config, ...chosen })),
  );
}

/** @throws LccError `usage` */
function chosenOf({ operands, options }: CommandContext) {
  const [word = '', operand = '', ...more] = operands;
  const { operand: wanted, ...chosen } = actionOf(ACTIONS, word, ['operator', 'feed']);
  const isOfPid = word === 'show' && options['pid'] !== undefined;
  if ((wanted === '' || isOfPid) !== (operand === '') || more.length > 0)
    throw new LccError('usage', `write lccrs ${word}${wanted === '' ? '' : ` ${wanted}`}`);
  return { ...chosen, operand };
}

/** @param writes lccd-rs alone makes one */
function open(config: Config, writes = false): RsDatabase {
  const { path } = rsOptions(config);
  const reading = RsDatabase.openForReading(path);
  if (!writes) return reading;
  reading.close();
  return RsDatabase.open(path);
}

async function using(db: RsDatabase, action: (db: RsDatabase) => Done | Promise<Done>): Promise<ExitStatus> {
  try {
    return (await action(db)) ?? EXIT.ok;
  } finally {
    db.close();
  }
}

const OPEN: readonly RegistrationState[] = ['issued', 'checking', 'waiting', 'applying'];
const ALL: readonly RegistrationState[] = [...OPEN, 'active', 'refused', 'expired', 'cancelled'];

function list({ db, context, config }: Given): Done | Promise<Done> {
  const { options } = context;
  if (options['differs'] === true) return differs(db, context, config);
  const rows = db.registrations.inStates(options['all'] === true ? ALL : OPEN, limitOf(context)).toReversed();
  for (const row of rows)
    context.print(options['json'] === true ? jsonOf(row) : registrationLine(row, context.clock.nowMs()));
  if (rows.length === 0)
    context.say(
      options['all'] === true
        ? 'no site has begun to register'
        : 'none is under way; lccrs list --all shows what is over',
    );
}

/** After one of the two databases was put back from a backup. */
async function differs(db: RsDatabase, context: CommandContext, config: Config): Promise<ExitStatus> {
  const here = new Set(db.providers.all().map(({ pid }) => pid));
  const there = new Set(readLcc(config.home.db, readRegisteredPids));
  const absent = [...here].filter(pid => !there.has(pid));
  const elsewhere = await haveOthers(context, config, absent);
  const lines = [
    ...absent
      .filter(pid => !elsewhere.has(pid))
      .map(pid => `${pid} is in rs.db only: its site has to register again\n`),
    ...[...there]
      .filter(pid => !here.has(pid))
      .map(pid => `${pid} is in lcc.db only: it goes on delivering; lccpidb show --pid=${pid}\n`),
  ];
  context.print(lines.join(''));
  return lines.length === 0 ? EXIT.ok : EXIT.someRejected;
}

async function show({ db, context, config, operand }: Given): Promise<void> {
  const { pid } = context.options;
  const isJson = context.options['json'] === true;
  if (operand === '' && typeof pid === 'string') {
    const pushes = await pushesOf(db, context, config, idOf(pid));
    return context.print(isJson ? jsonOf({ pid: idOf(pid), pushes }) : pushesText(pushes));
  }
  const registration = db.registrations.get(idOf(operand));
  if (registration === undefined)
    throw new LccError('usage', `there is no registration ${operand}; see lccrs list --all`);
  const others = await othersOf(context, config, registration);
  const isActive = registration.state === 'active';
  const pushes = isActive ? await pushesOf(db, context, config, registration.pid) : undefined;
  const also = { crawled_by: others?.crawlers ?? null, had_by: others?.announcers ?? null };
  context.print(
    isJson
      ? jsonOf({ ...registration, ...also, ...(pushes !== undefined && { pushes }) })
      : registrationText(registration, others) + (pushes === undefined ? '' : pushesText(pushes)),
  );
}

/** The pushes of a provider, one that lccpidb added as well, wherever its home is. */
async function pushesOf(
  db: RsDatabase,
  context: CommandContext,
  config: Config,
  pid: number,
): Promise<PushView> {
  const nowS = Math.floor(context.clock.nowMs() / 1000);
  const known = await readable(() =>
    readLcc(config.home.db, lcc => {
      const provider = readProvider(lcc, pid);
      return provider && { push: provider.push, pushes: new PushDays(lcc).of(pid, nowS) };
    }),
  );
  return pushView(db, pid, known ?? (await providerElsewhere(context, config, pid)));
}

/** Other providers, of all homes, that crawl or announce what it has, or wants; undefined where one of the
 * homes cannot be read. */
function othersOf(
  context: CommandContext,
  config: Config,
  registration: Registration,
): Promise<OtherProviders | undefined> {
  const directories = directoriesOf(registration);
  return readable(async () => {
    const told: Partial<OtherProviders>[] = readLcc(config.home.db, lcc =>
      directories.map(url => ({ crawlers: crawlersOf(lcc, url), announcers: announcersOf(lcc, url) })),
    );
    const questions = directories.map(url => ({ op: 'find', url }) as const);
    told.push(...(await askOthers(context, config, questions)));
    const all = (of: keyof OtherProviders) =>
      [...new Set(told.flatMap(answer => answer[of] ?? []))]
        .filter(pid => pid !== registration.pid)
        .sort((a, b) => a - b);
    return { crawlers: all('crawlers'), announcers: all('announcers') };
  });
}

/** Undefined where a home cannot be read. */
async function readable<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof LccError) return undefined;
    throw error;
  }
}

async function approve({ db, context, config, operand }: Given): Promise<void> {
  const slots = config.get('qm.slots');
  const { filesmax, spacemax, fullsetsallowed, bandwidth, priority } = termsOf(context.options, slots);
  const given = { filesmax, spacemax, fullsetsallowed, bandwidth, priority };
  const terms = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as RsTerms;
  requireBelow(terms);
  const registration = db.registrations.get(idOf(operand));
  const others = registration && (await othersOf(context, config, registration));
  if (registration && others === undefined)
    context.say('not known whether others announce its pages: lcc.db, or another home, cannot be read');
  for (const pid of others?.announcers ?? []) context.say(`its pages are announced by ${announcedText(pid)}`);
  transitionsOf(db, context, config).approve(idOf(operand), terms);
  context.say(
    `registration ${operand} is approved; it is a provider as soon as lccd-rs and lccd-qm run: lccrs show ${operand}`,
  );
}

/** @throws LccError `usage` for what the Queue Manager would refuse */
function requireBelow(terms: RsTerms): void {
  const above = termsAbove(terms, MOST_TERMS);
  if (above !== undefined)
    throw new LccError(
      'usage',
      `--${above}: more than an approval may give; lccpidb set gives a provider more`,
    );
}

function refuse({ db, context, config, operand }: Given): void {
  const { reason } = context.options;
  if (typeof reason !== 'string' || reason.trim() === '')
    throw new LccError('usage', '--reason=TEXT is missing: what the applicant is told');
  transitionsOf(db, context, config).refuse(idOf(operand), oneLine(reason));
}

function audit({ db, context }: Given): void {
  const pid = context.options['pid'];
  const of = { pid: pid === undefined ? undefined : idOf(String(pid)) };
  const rows = db.audit.page(limitOf(context), of).toReversed();
  for (const row of rows) context.print(context.options['json'] === true ? jsonOf(row) : auditLine(row));
}

function waitingMails({ db, context }: Given): void {
  for (const mail of db.mails.waiting(limitOf(context))) {
    const shown = shownMail(mail);
    context.print(context.options['json'] === true ? jsonOf(shown) : mailLine(shown, context.clock.nowMs()));
  }
}

function backup({ db, operand }: Given): void {
  if (existsSync(operand)) throw new LccError('output.create', `${operand}: exists; give another name`);
  db.copyTo(operand);
}

function transitionsOf(db: RsDatabase, context: CommandContext, config: Config): Transitions {
  return new Transitions(db, () => context.clock.nowMs(), config.get('qm.slots'));
}

/** A registration, but for its hashes. */
function jsonOf(row: object): string {
  const { secret: _secret, password: _password, ...rest } = row as Record<string, unknown>;
  return `${JSON.stringify(rest)}\n`;
}

function idOf(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new LccError('usage', `"${text}": give a number; see lccrs list`);
  return Number(text);
}

function limitOf({ options }: CommandContext): number {
  return numberOf(options, 'limit', 'give a number, 1 or more', { max: 9_999_999 }) ?? SHOWN_ROWS;
}
