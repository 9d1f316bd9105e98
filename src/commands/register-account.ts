/** Actions of lccregister(1) for a site that is a provider already. */
import { realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { changePassword, loginOf, type SiteAccount } from '../cp/register/account.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { crontabLines, type CrontabTerms } from '../wire/crontab.js';
import { textsOf } from './options.js';
import type { CommandContext } from './run.js';

/** What each word does; `root` has two. */
export const ACCOUNT_ACTIONS: Readonly<
  Record<string, (context: CommandContext, account: SiteAccount) => Promise<ExitStatus>>
> = { status, passwd, leave, 'root rm': removeRoot };

/** Of a line for cron: what only this machine knows. @param docroot where the pages are, if that is known */
export function crontabTermsHere(
  pwdfile: string,
  docroot = '/WHERE/THE/PAGES/ARE',
): Pick<CrontabTerms, 'bin' | 'docroot' | 'pwdfile'> {
  const bin = dirname(realpathSync(process.argv[1] ?? ''));
  return { bin, docroot: resolve(docroot), pwdfile: resolve(pwdfile) };
}

async function status(context: CommandContext, account: SiteAccount): Promise<ExitStatus> {
  const told = await account.server.ask('GET', 'me', undefined, loginOf(account));
  const files = Object(told['files']) as { used?: unknown; free?: unknown };
  const space = Object(told['space_bytes']) as { used?: unknown; free?: unknown };
  const fullSets = Object(told['full_sets']) as { allowed?: unknown; wanted?: unknown };
  const roots = Array.isArray(told['roots']) ? told['roots'].map(String) : [];
  const rows: [string, string][] = [
    ['provider', String(account.pid)],
    ...roots.map((root): [string, string] => ['root', root]),
    ['urls', `${Number(files.used)}, ${Number(files.free)} more may come`],
    ['bytes', `${Number(space.used)}, ${Number(space.free)} more may come`],
    ['full sets', fullSets.wanted === true ? 'one is wanted' : `${Number(fullSets.allowed)} may be sent`],
    ['waiting', String(Number(told['waiting']))],
    ['errors', String(Number(told['errors']))],
  ];
  // What comes from a server must not move the cursor of a terminal.
  for (const [name, value] of rows) process.stdout.write(`${`${name}:`.padEnd(11)}${printable(value)}\n`);
  const { uns } = told;
  if (typeof uns !== 'string' || roots.length === 0) return EXIT.ok;
  const here = crontabTermsHere(account.pwdfile, textsOf(context.options, 'docroot')?.[0]);
  for (const { line } of crontabLines(roots, { ...here, pid: account.pid, uns }))
    process.stdout.write(`${'crontab:'.padEnd(11)}${printable(line)}\n`);
  return EXIT.ok;
}

function printable(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
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
