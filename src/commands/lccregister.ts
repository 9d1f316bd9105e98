/** lccregister(1): a site becomes a provider of an LCC, without a browser. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  continueRegistration,
  register,
  type Registered,
  type RegisterOptions,
} from '../cp/register/register.js';
import { pendingFileOf, readPending, type PendingRegistration } from '../cp/register/pending.js';
import { loginOf, type SiteAccount } from '../cp/register/account.js';
import { RegistrationServer } from '../cp/register/server.js';
import { keepMemoryOutOfCores } from '../lib/core-dumps.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { isLoopback } from '../lib/loopback.js';
import { authoritiesOf, textOf, textsOf, waitMsOf } from './options.js';
import { ACCOUNT_ACTIONS, cronLines } from './register-account.js';
import type { CommandContext, CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccregister',
  summary: 'Register a site with an LCC: new begins, check goes on; what a provider does later.',
  operands: 'new|check|status|passwd|root add|root rm|leave',
  options: [
    { flags: '--server <URL>', help: 'the Registration Server' },
    { flags: '--pid <N>', of: ['status', 'passwd', 'root', 'leave'], help: 'the number of the provider' },
    { flags: '--urls <N>', of: ['root rm', 'leave'], help: 'how many urls it has, as status shows' },
    { flags: '--undo', of: ['leave'], help: 'it stays after all' },
    {
      flags: '--url <URL>',
      of: ['new', 'root', 'passwd'],
      help: 'a directory of the site, as high as possible; ends with a slash; with passwd beside --forgot',
    },
    {
      flags: '--forgot',
      of: ['passwd'],
      help: 'the password is lost; --url and the other roots prove whose they are',
    },
    { flags: '--give-up', of: ['passwd'], help: 'with --forgot: roots that have not the file are taken off' },
    { flags: '--pwdfile <FILE>', help: 'where the password goes; FILE.pair is there until all is done' },
    {
      flags: '--docroot <DIR>',
      help: 'where that directory lies here: the file is put there, and taken away; may be repeated for passwd --forgot',
      repeat: true,
    },
    {
      flags: '--email <ADDRESS>',
      of: ['new'],
      help: 'where the pair, and once its link was followed, news is sent',
    },
    {
      flags: '--bandwidth <BYTES>',
      of: ['new'],
      help: 'bytes a second at most that are fetched, such as 500KB',
    },
    { flags: '--hours <HOURS>', of: ['new'], help: 'hours in which is fetched: 0-7,22-23' },
    {
      flags: '--zone <NAME>',
      of: ['new'],
      help: 'whose hours these are, such as Europe/Berlin (default: of this machine)',
    },
    { flags: '--wait [SECONDS]', help: 'wait for approval: as long as that takes, or SECONDS' },
    { flags: '--timeout <SECONDS>', help: 'longest wait for an answer of the server', default: '60' },
    { flags: '--cafile <FILE>', help: 'certificates (PEM) to trust instead of the system ones' },
  ],
  example: `lccregister new --server=https://lcc.example.org/ --url=http://www.example.org/ \\
    --docroot=/var/www --pwdfile=$HOME/.lcc-password`,
  run,
};

async function run(context: CommandContext): Promise<ExitStatus> {
  keepMemoryOutOfCores();
  const { operands } = context;
  const [verb = ''] = operands;
  const words = operands.join(' ');
  if (words === 'root add') return prove(context, 'root');
  if (words === 'passwd' && context.options['forgot'] === true) return prove(context, 'reset');
  if (words === 'passwd' && (context.options['url'] ?? context.options['giveUp']) !== undefined)
    throw new LccError('usage', 'passwd: --url and --give-up are for --forgot, a password that is lost');
  const action = ACCOUNT_ACTIONS[words];
  if (action !== undefined) return action(context, accountOf(context));
  if (operands.length !== 1 || (verb !== 'new' && verb !== 'check'))
    throw new LccError(
      'usage',
      `${operands.length === 0 ? 'nothing to do' : `"${words}" is no action`}; give new, check, status, passwd, root add, root rm or leave`,
    );
  const pending = verb === 'check' ? pendingOf(context) : undefined;
  const options = optionsOf(context, pending);
  warnOf(context, options.serverUrl);
  const done = pending === undefined ? register(options) : continueRegistration(pending, options);
  return conclude(context, await done, options);
}

/** Another root of a provider, or another password, by the file of a pair. */
async function prove(context: CommandContext, kind: 'root' | 'reset'): Promise<ExitStatus> {
  const account = accountOf(context);
  const { server, pid, pwdfile } = account;
  const url = httpUrl('url', demand(context, 'url', kind === 'root' ? 'the new root' : 'one of its roots'));
  const options: RegisterOptions = {
    ...waitOf(context),
    server,
    serverUrl: demand(context, 'server', 'the address of the Registration Server'),
    kind,
    url,
    pwdfile,
    docroots: textsOf(context.options, 'docroot') ?? [],
    make: () => (kind === 'root' ? server.makeRoot(url, loginOf(account)) : server.makeReset(pid, url)),
    givesUp: context.options['giveUp'] === true,
  };
  const { status, message, pending, standing } = await register(options);
  if (message !== undefined) context.complain(message);
  if (standing?.state === 'issued') sayWhere(context, pending, 'run this again');
  if (status === EXIT.ok)
    context.say(
      kind === 'root'
        ? `${pending.url} is a root of provider ${pid}: what it delivers may lie there from now on`
        : `provider ${pid} has another password; it is in ${pwdfile}`,
    );
  return status;
}

/** The line that makes the file of a pair, where lccregister does not. */
function sayWhere(context: CommandContext, pending: PendingRegistration, next: string): void {
  if (pending.docroots !== undefined) return;
  context.print(`printf '%s\\n' ${pending.secret} > ${pending.file.slice(pending.url.length)}\n`);
  context.say(
    `the line puts the file into the directory that ${pending.url} is, where it is run; then: ${next}`,
  );
}

function waitOf(context: CommandContext): Pick<RegisterOptions, 'waitMs' | 'nowMs' | 'sleep'> {
  return {
    waitMs: waitMsOf('--wait', context.options['wait']) ?? 0,
    nowMs: () => context.clock.monotonicMs(),
    sleep: ms => sleep(ms),
  };
}

function warnOf(context: CommandContext, serverUrl: string): void {
  const { protocol, hostname } = new URL(serverUrl);
  if (protocol === 'http:' && !isLoopback(hostname))
    context.complain(`${serverUrl}: asked without TLS, so that others may read the password on its way`);
}

function accountOf(context: CommandContext): SiteAccount {
  const serverUrl = httpUrl('server', demand(context, 'server', 'the address of the Registration Server'));
  const pid = demand(context, 'pid', 'the number of the provider');
  if (!/^[1-9]\d{0,14}$/.test(pid)) throw new LccError('usage', `--pid=${pid}: give a number`);
  const pwdfile = demand(context, 'pwdfile', 'the file with the password');
  warnOf(context, serverUrl);
  return { server: serverOf(context, serverUrl), pid: Number(pid), pwdfile, sleep: ms => sleep(ms) };
}

function serverOf(context: CommandContext, url: string): RegistrationServer {
  return new RegistrationServer({
    url,
    timeoutMs: waitMsOf('--timeout', context.options['timeout'], 1) ?? 0,
    ca: authoritiesOf(context.options),
  });
}

/** @throws LccError `input.missing` when no registration is under way */
function pendingOf(context: CommandContext): PendingRegistration {
  const pwdfile = demand(context, 'pwdfile', 'the file that the password goes to');
  const pending = readPending(pwdfile, 'pair');
  if (pending === undefined)
    throw new LccError(
      'input.missing',
      `${pendingFileOf(pwdfile, 'pair')}: no registration is under way; begin one with lccregister new; how a provider stands is said by lccregister status`,
    );
  return pending;
}

function conclude(
  context: CommandContext,
  { status, message, pending, standing }: Registered,
  options: RegisterOptions,
): ExitStatus {
  if (message !== undefined) context.complain(message);
  if (standing?.state === 'issued') sayWhere(context, pending, 'lccregister check');
  if (status !== EXIT.ok || standing === undefined) return status;
  context.say(
    `${pending.url} is provider ${standing.pid}; the password is in ${options.pwdfile}; the line for crontab(5):`,
  );
  const { pid, uns } = standing;
  const docroot = pending.docroots?.[0];
  for (const line of cronLines(context, [pending.url], {
    pid,
    uns,
    pwdfile: options.pwdfile,
    docroot,
  }))
    context.print(`${line}\n`);
  return status;
}

function demand(context: CommandContext, name: string, what: string): string {
  const value = textOf(context.options, name);
  if (value === undefined || value === '') throw new LccError('usage', `--${name} is missing: ${what}`);
  return value;
}

function optionsOf(context: CommandContext, pending: PendingRegistration | undefined): RegisterOptions {
  const text = (name: string) => textOf(context.options, name);
  const given = (name: string, what: string) => httpUrl(name, demand(context, name, what));
  const serverUrl = pending?.server ?? given('server', 'the address of the Registration Server');
  const url = pending?.asked ?? given('url', 'the address of the site, such as http://www.example.org/');
  const pwdfile = demand(context, 'pwdfile', 'the file that the password goes to');
  const docroots = textsOf(context.options, 'docroot') ?? [];
  if (docroots.length > 1)
    throw new LccError('usage', '--docroot: give one; a new provider has one directory');
  const server = serverOf(context, serverUrl);
  const [email, bandwidth, hours] = [text('email'), text('bandwidth'), text('hours')];
  const zone = text('zone') ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const wishes = {
    ...(email !== undefined && { email }),
    ...(bandwidth !== undefined && { bandwidth }),
    ...(hours !== undefined && { hours, zone }),
  };
  return {
    ...waitOf(context),
    server,
    serverUrl,
    kind: 'pair',
    url,
    pwdfile,
    docroots,
    make: () => server.make(url, wishes),
    givesUp: false,
  };
}

function httpUrl(option: string, text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new LccError('usage', `--${option}=${text}: give an http or https url`);
  return text;
}
