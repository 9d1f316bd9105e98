/** Actions of lccregister(1) for a site that is a provider already. */
import { realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { changePassword, loginOf, type SiteAccount } from '../cp/register/account.js';
import { requireSafe } from '../cp/register/register.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { oneLine } from '../lib/one-line.js';
import { utcMinute } from '../lib/when.js';
import { crontabLines } from '../wire/crontab.js';
import { textOf, textsOf } from './options.js';
import type { CommandContext } from './run.js';

/** Longest line that is shown. */
const MAX_LINE = 10_000;

interface CronWords {
  pid: number;
  uns: string;
  pwdfile: string;
  docroot: string | undefined;
}

/** Action of each word; `root` has two. */
export const ACCOUNT_ACTIONS: Readonly<
  Record<string, (context: CommandContext, account: SiteAccount) => Promise<ExitStatus>>
> = { status, passwd, leave, 'root rm': removeRoot };

/**
 * The lines for cron of all roots of a provider, one for each host.
 * @param context its launcher is a command in whose folder the others are; its --cafile is that of the lines
 * as well
 * @param docroot where the pages are; undefined: a word that says that it is missing
 */
export function cronLines(
  { launcher, options }: Pick<CommandContext, 'launcher' | 'options'>,
  roots: readonly string[],
  { pid, uns, pwdfile, docroot = '/WHERE/THE/PAGES/ARE' }: CronWords,
): string[] {
  const bin = dirname(realpathSync(launcher));
  const given = textOf(options, 'cafile');
  const cafile = given === undefined ? undefined : resolve(given);
  const terms = { bin, docroot: resolve(docroot), pwdfile: resolve(pwdfile), pid, uns, cafile };
  return crontabLines(roots, terms).map(({ line }) => oneLine(line, MAX_LINE));
}

async function status(context: CommandContext, account: SiteAccount): Promise<ExitStatus> {
  const { pid, pwdfile } = account;
  const docroot = textsOf(context.options, 'docroot')?.[0];
  if (docroot !== undefined) requireSafe(docroot, pwdfile);
  const told = await account.server.ask('GET', 'me', undefined, loginOf(account));
  const files = Object(told['files']) as { used?: unknown; free?: unknown };
  const space = Object(told['space_bytes']) as { used?: unknown; free?: unknown };
  const fullSets = Object(told['full_sets']) as { allowed?: unknown; wanted?: unknown };
  const roots = Array.isArray(told['roots']) ? told['roots'].map(String) : [];
  const rows: [string, string][] = [
    ['provider', String(pid)],
    ...roots.map((root): [string, string] => ['root', root]),
    ...givenRows(told['givenroots']),
    ['urls', `${Number(files.used)}, ${Number(files.free)} more may come`],
    ['bytes', `${Number(space.used)}, ${Number(space.free)} more may come`],
    ['full sets', fullSets.wanted === true ? 'one is wanted' : `${Number(fullSets.allowed)} may be sent`],
    ['waiting', String(Number(told['waiting']))],
    ['errors', String(Number(told['errors']))],
  ];
  const { uns } = told;
  if (typeof uns === 'string')
    for (const line of cronLines(context, roots, { pid, uns, pwdfile, docroot }))
      rows.push(['crontab', line]);
  // Text of a server must not move the cursor of a terminal.
  for (const [name, value] of rows) context.print(`${`${name}:`.padEnd(11)}${oneLine(value, MAX_LINE)}\n`);
  return EXIT.ok;
}

/** Roots that a reset of the password has given up. */
function givenRows(given: unknown): [string, string][] {
  if (!Array.isArray(given)) return [];
  return given.map(each => {
    const { root, at } = Object(each) as { root?: unknown; at?: unknown };
    const untilMs = Number(at) * 1000;
    const time = Number.isNaN(new Date(untilMs).getTime()) ? 'a while' : utcMinute(untilMs);
    return ['given up', `${String(root)}, kept until ${time}; root add brings it back`];
  });
}

async function passwd(context: CommandContext, account: SiteAccount): Promise<ExitStatus> {
  const { status: ended, message } = await changePassword(account);
  if (ended === EXIT.ok) context.say(message);
  else context.complain(message);
  return ended;
}

async function leave(context: CommandContext, account: SiteAccount): Promise<ExitStatus> {
  const login = loginOf(account);
  const isUndone = context.options['undo'] === true;
  const told = isUndone
    ? await account.server.ask('DELETE', 'me/leave', undefined, login)
    : await account.server.ask('POST', 'me/leave', { urls: urlsOf(context) }, login);
  const done = isUndone ? 'it stays' : 'it leaves; --undo takes that back for some days';
  return conclude(context, told['state'], `provider ${account.pid}: ${done}`);
}

async function removeRoot(context: CommandContext, account: SiteAccount): Promise<ExitStatus> {
  const { url } = context.options;
  if (typeof url !== 'string') throw new LccError('usage', '--url is missing: the root that is taken off');
  const urls = urlsOf(context);
  const { state } = await account.server.ask('DELETE', 'me/roots', { url, urls }, loginOf(account));
  return conclude(context, state, `${url} is taken off`);
}

function conclude(context: CommandContext, state: unknown, done: string): ExitStatus {
  if (state === 'done') {
    context.say(done);
    return EXIT.ok;
  }
  context.complain('the change is kept, and made as soon as the LCC can make it');
  return EXIT.tempfail;
}

function urlsOf({ options }: CommandContext): number {
  const { urls } = options;
  if (typeof urls !== 'string' || !/^\d{1,15}$/.test(urls))
    throw new LccError(
      'usage',
      `--urls=${typeof urls === 'string' ? urls : 'N'}: say how many urls the provider has, as lccregister status shows`,
    );
  return Number(urls);
}
