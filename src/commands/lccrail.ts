/**
 * lccrail(8): targets and groups, their rails, where contents lie on them, which pages are replaced softly.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { clearOptions, stoppedDaemons } from '../clear/options.js';
import { waitForRail } from '../clear/rail-wait.js';
import { resyncRail } from '../clear/resync.js';
import { ClearDatabase } from '../db/clear/database.js';
import { COMMAND_BUSY_MS } from '../db/clear/open.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { parseWhen } from '../lib/when.js';
import { amount } from '../config/words.js';
import { actionOf } from './actions.js';
import { keptAction } from './engine-wait.js';
import { CONFIG_OPTION, configOf, waitMsOf } from './options.js';
import { railLines, statusOf } from './rail-text.js';
import type { CommandContext, CommandSpec } from './run.js';
import { mapTerms, pathsIn, softRule, targetTerms, type RailAction, railTerms } from './rail-terms.js';
import { readSecrets } from '../clear/rails/secrets.js';
import { probeRail, refuseUnprotected, type ProbeFinding } from '../clear/rail-check.js';
import type { RailSetup } from '../db/clear/rails.js';

/** Action of each word; the names that follow it. */
const ACTIONS: Record<
  string,
  { names: string; action: (given: RailAction) => ExitStatus | void | Promise<ExitStatus | void> }
> = {
  'target add': { names: 'TARGET', action: addTarget },
  'target group': { names: 'GROUP MEMBER...', action: addGroup },
  'target rm': { names: 'TARGET [MEMBER...]', action: removeTarget },
  'map add': { names: 'TARGET', action: ({ db, context, names }) => changeMap(db, context, names, true) },
  'map rm': { names: 'TARGET', action: ({ db, context, names }) => changeMap(db, context, names, false) },
  'soft add': { names: 'TARGET PATH', action: addSoft },
  'soft rm': { names: 'TARGET PATH', action: removeSoft },
  add: { names: 'RAIL', action: addRail },
  set: { names: 'RAIL', action: setRail },
  rm: { names: 'RAIL', action: ({ db, names }) => db.write(() => db.rails.remove(only(names, 'RAIL'))) },
  up: { names: 'RAIL', action: up },
  down: { names: 'RAIL', action: down },
  check: { names: 'RAIL', action: checkRail },
  resync: { names: 'RAIL', action: resync },
  status: { names: '[RAIL]', action: status },
};

/** Actions that change nothing. */
const READING: readonly string[] = ['status', 'check'];

export const command: CommandSpec = {
  name: 'lccrail',
  summary: 'Targets, rails, paths and soft rules of cache clearing; rails up and down.',
  operands: `${Object.keys(ACTIONS).join('|')} [NAME...]`,
  options: [
    {
      flags: '--target <NAME>',
      of: ['add', 'set'],
      help: 'the elementary target whose pages the rail serves',
    },
    { flags: '--url <URL>', of: ['add', 'set'], help: 'where the rail is asked, http or https' },
    { flags: '--driver <NAME>', of: ['add', 'set'], help: 'what kind of server it is (apache-dav)' },
    { flags: '--tier <N>', of: ['add', 'set'], help: 'rails of lower tiers are cleared first (0)' },
    { flags: '--workers <N>', of: ['add', 'set'], help: 'requests at a time (4)' },
    {
      flags: '--host <NAME>',
      of: ['add', 'set', 'target add'],
      help: 'the Host that is asked for; none = that of the url',
    },
    { flags: '--auth <NAME>', of: ['add', 'set'], help: 'its login in the file of secrets; none = no login' },
    {
      flags: '--cleanup <HOW>',
      of: ['add', 'set'],
      help: 'names of generated pages are removed exact or by wildcard',
    },
    { flags: '--opts <JSON>', of: ['add', 'set'], help: 'options of the driver' },
    {
      flags: '--lb-url <URL>',
      of: ['target add'],
      help: 'the load balancer that generates pages of the target',
    },
    { flags: '--type <TYPE>', of: ['map'], help: 'the content type' },
    { flags: '--path <PATH>', of: ['map'], help: 'what stands before the content id, such as /news/' },
    { flags: '--extension <TEXT>', of: ['map'], help: 'what stands after it, such as .html' },
    {
      flags: '--pattern',
      of: ['soft add'],
      help: 'PATH has * for any part of a name, ** for any part of a path',
    },
    {
      flags: '--min-interval <TIME>',
      of: ['soft add'],
      help: 'a page is generated at most once in this time',
    },
    { flags: '--since <TIME>', of: ['resync'], help: 'what was cleared since then, such as 2h' },
    { flags: '--reason <TEXT>', of: ['up', 'down'], help: 'shown with the state' },
    {
      flags: '--wait [SECONDS]',
      of: ['up', 'resync'],
      help: 'until the rail lacks nothing: 0 then, 75 when SECONDS are over',
    },
    {
      flags: '--force',
      of: ['add', 'set', 'target rm'],
      help: 'also a rail that lets anybody change its pages; with target rm also one with requests queued',
    },
    { flags: '--json', of: ['status'], help: 'one JSON object a line' },
    CONFIG_OPTION,
  ],
  example:
    'lccrail target add www && lccrail map add www --type=@url --path=/\nlccrail add www1 --target=www --url=http://127.0.0.1:8081/ --driver=nginx-dav',
  run,
};

async function run(context: CommandContext): Promise<ExitStatus> {
  const { operands } = context;
  const words =
    [operands.slice(0, 2).join(' '), operands[0] ?? ''].find(word => Object.hasOwn(ACTIONS, word)) ??
    operands.join(' ');
  const chosen = actionOf(ACTIONS, words);
  const names = operands.slice(words.split(' ').length);
  checkCount(words, chosen.names, names);
  const config = configOf(context);
  const clearing = clearOptions(config);
  const act = async () => {
    const db = opened(words, clearing.path);
    try {
      return (await chosen.action({ db, context, config, clearing, names })) ?? EXIT.ok;
    } finally {
      db.close();
    }
  };
  return READING.includes(words) ? act() : keptAction(context, config, 'clear', act);
}

/** Targets come first: what makes one makes the database. */
function opened(words: string, path: string): ClearDatabase {
  if (words === 'status') return ClearDatabase.openForReading(path);
  if (words === 'target add' || words === 'target group') return ClearDatabase.open(path, COMMAND_BUSY_MS);
  return ClearDatabase.openExisting(path, COMMAND_BUSY_MS);
}

/** @throws LccError `usage` when there are fewer or more names than an action has */
function checkCount(words: string, wanted: string, names: readonly string[]): void {
  const parts = wanted.split(' ');
  const least = parts.filter(part => !part.startsWith('[')).length;
  const most = wanted.includes('...') ? Infinity : parts.length;
  if (names.length < least || names.length > most)
    throw new LccError(
      'usage',
      `lccrail ${words} ${wanted}: ${names.length === 0 ? 'no name is' : `${names.length} names are`} given`,
    );
}

function only([name]: readonly string[], what: string): string {
  if (name === undefined) throw new LccError('usage', `${what} is missing`);
  return name;
}

function addTarget({ db, context, names }: RailAction): void {
  const name = only(names, 'TARGET');
  db.write(() =>
    db.targets.put({ name, kind: 'elementary', ...targetTerms(name, context.options, db.targets.get(name)) }),
  );
}

function addGroup({ db, names: [group = '', ...members] }: RailAction): void {
  db.write(() => {
    db.targets.put({ name: group, kind: 'group', ...targetTerms(group, {}, undefined) });
    for (const member of members) db.targets.join(group, member);
  });
}

function removeTarget({ db, context, names: [name = '', ...members] }: RailAction): void {
  db.write(() => {
    if (members.length === 0) {
      if (context.options['force'] !== true && db.queue.hasTarget(name))
        throw new LccError(
          'try.later',
          `target ${name} has requests that are not carried out yet, see lccclearq pending; wait, or --force rejects them`,
        );
      db.targets.remove(name);
    }
    for (const member of members)
      if (!db.targets.leave(name, member)) throw new LccError('usage', `${member} is no member of ${name}`);
  });
}

function changeMap(db: ClearDatabase, context: CommandContext, names: string[], adds: boolean): void {
  const row = mapTerms(only(names, 'TARGET'), context);
  db.write(() => {
    if (adds) db.targets.addPath(row);
    else if (!db.targets.removePath(row))
      throw new LccError('usage', `target ${row.target} has no such path; lccrail status shows them`);
  });
}

function addSoft({ db, context, names: [target = '', url = ''] }: RailAction): void {
  const rule = softRule(target, url, context);
  db.write(() => {
    db.targets.demand(target);
    db.soft.putRule(rule);
  });
  if (pathsIn(db, target).length === 0)
    context.complain(`target ${target} has no paths yet: no page of it is cleared; lccrail map add`);
}

function removeSoft({ db, names: [target = '', url = ''] }: RailAction): void {
  if (!db.write(() => db.soft.removeRule({ target, url })))
    throw new LccError('usage', `target ${target} has no soft rule ${url}; lccrail status shows them`);
}

async function up({ db, context, clearing, names }: RailAction): Promise<ExitStatus> {
  const rail = only(names, 'RAIL');
  db.write(() => db.rails.setByAdmin(rail, 'UP', context.clock.nowMs(), reasonOf(context)));
  return waited({ db, context, clearing }, rail);
}

function down({ db, context, names }: RailAction): void {
  db.write(() => db.rails.setByAdmin(only(names, 'RAIL'), 'DOWN', context.clock.nowMs(), reasonOf(context)));
}

async function resync({ db, context, clearing, names }: RailAction): Promise<ExitStatus> {
  const name = only(names, 'RAIL');
  const { since } = context.options;
  if (typeof since !== 'string')
    throw new LccError('usage', '--since=TIME is missing: since when the rail may lack changes, such as 2h');
  const nowMs = context.clock.nowMs();
  const sinceMs = parseWhen(since, nowMs) * 1000;
  const pages = resyncRail(db, name, sinceMs, nowMs);
  context.say(
    pages === 0
      ? `nothing was cleared on the target of rail ${name} since then`
      : `${amount(pages, 'page')} will be cleared again on rail ${name}`,
  );
  return waited({ db, context, clearing }, name);
}

async function waited(
  { db, context, clearing }: Pick<RailAction, 'db' | 'context' | 'clearing'>,
  rail: string,
): Promise<ExitStatus> {
  const waitMs = waitMsOf('--wait', context.options['wait']);
  if (waitMs === undefined) return EXIT.ok;
  for (const daemon of stoppedDaemons(clearing)) context.complain(`${daemon} does not run`);
  const lack = await waitForRail(db, context.clock, rail, waitMs, sleep);
  if (lack === undefined) return EXIT.ok;
  const { pages, published, requests } = lack;
  if (pages > 0)
    context.complain(
      `rail ${rail}: ${amount(pages, 'page')} still to be sent; see lccclearq backlog --rail=${rail}`,
    );
  if (published > 0)
    context.complain(`${amount(published, 'page')} not published yet; see lccclearq unpublished`);
  if (requests > 0)
    context.complain(`${amount(requests, 'request')} not carried out yet; see lccclearq pending`);
  return EXIT.tempfail;
}

function status({ db, context, clearing, names }: RailAction): void {
  const [name] = names;
  const shown = db.read(() => {
    if (name !== undefined) db.rails.demand(name);
    return statusOf(db, context.clock.nowMs()).filter(rail => name === undefined || rail.name === name);
  });
  if (context.options['json'] === true) {
    context.print(shown.map(rail => `${JSON.stringify(rail)}\n`).join(''));
    return;
  }
  context.print(railLines(shown, name === undefined ? db : undefined));
  const isBusy = db.read(() => db.queue.count(1) > 0 || db.soft.waitingCount(1) > 0);
  if (!isBusy && shown.every(({ waiting }) => waiting === 0)) return;
  for (const daemon of stoppedDaemons(clearing))
    context.complain(`${daemon} does not run: what waits for it is not carried out`);
}

function reasonOf({ options }: CommandContext): string {
  const { reason } = options;
  return typeof reason === 'string' ? reason.replace(/\p{Cc}/gu, ' ').slice(0, 500) : '';
}

async function addRail(given: RailAction): Promise<void> {
  const { db, context, names } = given;
  const rail = railTerms(names[0] ?? '', context, undefined);
  await demandClosed(given, rail);
  db.write(() => db.rails.add(rail, context.clock.nowMs()));
}

async function setRail(given: RailAction): Promise<void> {
  const { db, context, names } = given;
  const name = names[0] ?? '';
  const known = db.rails.demand(name);
  const { name: _name, ...rail } = railTerms(name, context, known);
  await demandClosed(given, { name, ...rail });
  db.write(() => db.rails.change(name, rail));
}

/** Status 0 when all is as it must be, 69 when the rail does not answer, 65 otherwise. */
async function checkRail(given: RailAction): Promise<ExitStatus> {
  const { db, context, names } = given;
  const rail = db.rails.demand(names[0] ?? '');
  const findings = await probe(given, rail);
  for (const { what, result, text } of findings)
    context.print(
      `${result === 'ok' ? 'ok' : 'NOT OK'}  ${what}: ${text}${result === 'open' ? ': anybody may' : ''}\n`,
    );
  if (findings.some(({ result }) => result === 'away')) return EXIT.unavailable;
  return findings.every(({ result }) => result === 'ok') ? EXIT.ok : EXIT.dataerr;
}

async function demandClosed(given: RailAction, rail: RailSetup): Promise<void> {
  const { complain, options } = given.context;
  refuseUnprotected(rail.name, await probe(given, rail), options['force'] === true, complain);
}

function probe({ db, context, config }: RailAction, rail: RailSetup): Promise<ProbeFinding[]> {
  const { secretsFile, sender } = clearOptions(config);
  const [path] = pathsIn(db, rail.target);
  const folder = path?.path.replace(/[^/]*$/, '') ?? '/';
  return probeRail(rail, folder, readSecrets(secretsFile), sender, context.clock);
}
