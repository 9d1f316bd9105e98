/** lcccp: ships `<url>` containers to a UNS. */
import { fstatSync } from 'node:fs';
import { xmlLimitsOf } from '../config/limits.js';
import { amount } from '../config/words.js';
import { deliver, type DeliveryOutcome, type DeliveryOptions } from '../cp/deliver.js';
import { rehearse } from '../cp/dry-run.js';
import { FULL_OF_CACHE, FULL_OF_STATES } from '../cp/full-set.js';
import { askStatus, statusLines } from '../cp/status.js';
import { UrlErrors } from '../cp/url-errors.js';
import { parseEndpoint } from '../lib/endpoint.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { Output } from '../lib/stdio.js';
import { setKindOf } from '../wire/cp-uns/names.js';
import { authoritiesOf, configOf, textOf } from './options.js';
import { passwordOf } from './password-file.js';
import type { CommandContext, CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lcccp',
  summary: 'Ship <url> containers to the Update Notification Server of an LCC.',
  isFilter: true,
  options: [
    { flags: '--uns <ENDPOINT>', help: 'host:port, unix:/path or tls:host:port' },
    { flags: '--pid <N>', help: 'provider id' },
    { flags: '--pwd <X>', help: 'password; other users can see it while it is typed, so rather:' },
    { flags: '--pwdfile <FILE>', help: 'file whose first line is the password (else $LCC_PWD)' },
    { flags: '--urlprefix <URL>', help: 'put in front of every url that has no scheme' },
    {
      flags: '--set <KIND>',
      help: 'full: all there is; partial: changes (default: as the input says)',
      choices: ['full', 'partial'],
    },
    { flags: '--allow-empty', help: 'let a full set without a single url remove everything' },
    { flags: '--status', help: 'send nothing; print what the UNS says' },
    { flags: '--dry-run', help: 'connect to nobody; print the set that would be sent' },
    { flags: '--timeout <SECONDS>', help: 'longest wait for the UNS', default: '60' },
    { flags: '--cafile <FILE>', help: 'certificates (PEM) to trust instead of the system ones, for tls:' },
    { flags: '--config <FILE>', help: 'configuration (limits of section xml)' },
  ],
  example: `file2url --find docroot -name '*.html' | lcccpstate --statefile=state.txt |
    lcccp --uns=lcc.example.org:9000 --pid=7 --pwdfile=pwd --urlprefix=http://www.example.org/`,

  async run(context) {
    try {
      return await run(context);
    } finally {
      // The writer of our input need not wait for a reader any more.
      context.input().destroy();
    }
  },
};

async function run(context: CommandContext): Promise<ExitStatus> {
  const { options } = context;
  // Node takes a directory for an empty stream.
  if (fstatSync(0).isDirectory()) throw new LccError('input.missing', 'standard input is a directory');
  // The arguments stand in the process list otherwise.
  if (options['pwd'] !== undefined) process.title = 'lcccp';
  const out = new Output(context.stdout);
  if (options['dryRun'] === true && options['status'] === true)
    throw new LccError('usage', '--dry-run and --status: give one of them');
  if (options['dryRun'] === true) return dryRun(context, out);

  const errors = new UrlErrors(out);
  const delivery = deliveryOptions(context, errors);
  if (options['status'] === true) {
    const { pid, password } = delivery;
    if (pid === undefined || password === undefined)
      throw new LccError('usage', '--status needs --pid and a password (--pwdfile, LCC_PWD or --pwd)');
    const status = await askStatus({ ...delivery, pid, password });
    for (const line of statusLines(status)) out.write(`${line}\n`);
    out.flush();
    sayMore(context, status, errors);
  } else {
    try {
      const done = await deliver(context.input(), delivery, status => {
        for (const line of statusLines(status)) context.say(line);
      });
      conclude(context, done, errors.count);
      sayMore(context, done.status, errors);
    } catch (error) {
      // A set that is refused: what was told of its urls says why.
      errors.keep();
      throw error;
    }
  }
  return errors.count > 0 ? EXIT.someRejected : EXIT.ok;
}

async function dryRun(context: CommandContext, out: Output): Promise<ExitStatus> {
  const part = rehearse(context.input(), commonOptions(context));
  for (let next = await part.next(); ; next = await part.next()) {
    if (next.done === true) {
      context.say(`${amount(next.value.urls, 'url')} would be sent`);
      break;
    }
    out.write(next.value);
  }
  out.flush();
  return EXIT.ok;
}

function conclude(context: CommandContext, done: DeliveryOutcome, errors: number): void {
  const { sent, wasBlank, wasNew, committed, elsewhere, stillWanted, setBack, replaced, movedFrom } = done;
  if (wasNew)
    context.say('the LCC never had a set of this provider: all urls are sent, not only what changed');
  if (setBack !== undefined)
    context.complain(
      `this is connection ${setBack.to}, after connection ${setBack.from}: the LCC was put back to an earlier time; ` +
        healing(done, setBack) +
        '; its operator is to run lccfsck --repair --restored',
    );
  if (replaced !== undefined)
    context.complain(
      `the statefile is not the one that the last run left: it was removed, put back or replaced; ${healing(done, replaced)}`,
    );
  if (sent === undefined && wasBlank)
    context.complain('standard input was empty, without even <?lcc?>: nothing sent; was its writer killed?');
  else if (sent === undefined) context.say('nothing to send');
  else context.say(`${sent.set} set of ${amount(sent.urls, 'url')} sent, ${sent.accepted} accepted`);
  if (movedFrom !== undefined)
    context.say(
      `the urlprefix was ${movedFrom || 'none'} until now: what is held only under that is removed`,
    );
  if (errors > 0) context.say(`${amount(errors, 'url')} in error, see the standard output`);
  if (committed === true && context.verbose) context.say('the state was kept');
  if (committed === false)
    context.complain(
      'the state was replaced by another run and not kept; the next run sends the difference again',
    );
  if (elsewhere !== undefined)
    context.say(
      `keep the state, there: lcccpstate --statefile=${elsewhere.state} --commit on ${elsewhere.host}`,
    );
  if (stillWanted) context.complain(`the UNS wants a full set; ${wayToFullSet(done)}`);
}

/** The words on a state and an LCC that came apart, and the cure. */
function healing({ sharedWith, sent }: DeliveryOutcome, { isHealed }: { isHealed: boolean }): string {
  if (!isHealed) return 'send all with lcccpstate --full';
  return sharedWith !== undefined && sent?.set === 'partial'
    ? `all of it was sent, and nothing removed, for ${sharedWith}`
    : 'a full set was sent';
}

/** A UNS shows some at a time. */
function sayMore(context: CommandContext, status: { errors: number }, { earlier }: UrlErrors): void {
  const more = status.errors - earlier;
  if (more > 0)
    context.say(
      `${amount(more, 'more error')} of earlier fetches ${more === 1 ? 'is' : 'are'} not shown: further runs show what is kept of them`,
    );
}

function wayToFullSet({ isOfCache, isStatePartial, sharedWith }: DeliveryOutcome): string {
  if (isOfCache) return `send it once, ${FULL_OF_CACHE}`;
  if (sharedWith !== undefined)
    return `${sharedWith}: all of this state was sent, once, and nothing was removed; ${FULL_OF_STATES}`;
  if (isStatePartial)
    return 'this list names a part of the site only, the next one that names all is sent as one';
  return 'send one with lcccpstate --full, or all there is with --set=full';
}

function commonOptions(context: CommandContext): Pick<DeliveryOptions, 'limits' | 'set' | 'urlprefix'> {
  const text = (name: string) => textOf(context.options, name);
  const config = configOf(context, { mayBeUnreadable: true });
  const set = text('set');
  if (set !== undefined && setKindOf(set) === undefined)
    throw new LccError('usage', `--set ${set}: full or partial`);
  const urlprefix = text('urlprefix');
  if (urlprefix !== undefined && !/^[A-Za-z][A-Za-z0-9+.-]*:/.test(urlprefix))
    throw new LccError('usage', `--urlprefix ${urlprefix}: write an absolute url, http://host/`);
  return { limits: xmlLimitsOf(config.settings.xml), set: setKindOf(set), urlprefix };
}

function deliveryOptions(context: CommandContext, errors: UrlErrors): DeliveryOptions {
  const text = (name: string) => textOf(context.options, name);
  const uns = text('uns');
  if (uns === undefined) throw new LccError('usage', '--uns=ENDPOINT is required');
  const seconds = Number(text('timeout'));
  if (!(seconds > 0 && seconds <= 86_400))
    throw new LccError('usage', `--timeout ${text('timeout')}: seconds, up to a day`);
  return {
    ...commonOptions(context),
    uns: parseEndpoint(uns),
    ca: authoritiesOf(context.options),
    pid: pidOf(text('pid')),
    password: passwordOf(context),
    timeoutMs: seconds * 1000,
    clock: context.clock,
    onError: record => errors.print(record),
    errorsKept: () => errors.keep(),
    progress: context.progress('urls', false),
    explain: context.verbose ? context.say : undefined,
    allowEmpty: context.options['allowEmpty'] === true,
  };
}

function pidOf(text: string | undefined): string | undefined {
  if (text === undefined || /^[1-9]\d{0,14}$/.test(text)) return text;
  throw new LccError('usage', `--pid ${text}: a provider id is a number from 1`);
}
