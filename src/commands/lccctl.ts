/** lccctl(8): the operator's hand on the Queue Manager. */
import { resolve } from 'node:path';
import { homeOf } from '../config/home.js';
import { AS_ITS_USER, errnoOf, EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { ANSWER_TIMEOUT_MS, controlSocket, tell } from '../daemon/ask.js';
import { formatUntil } from '../config/words.js';
import { actionOf } from './actions.js';
import { CONFIG_OPTION, numberOf } from './options.js';
import type { CommandContext, CommandSpec } from './run.js';

interface Verb {
  /** Said of `provider 7` or `all 3 providers`. */
  done: (who: string, many: boolean) => string;
  /** Said of those among many for which nothing had to change. */
  already: string;
  /** Said instead when nothing had to change for anyone. */
  nothing: (who: string, many: boolean) => string;
  /** Said when something changed: what the operator may have to do besides. */
  consequence?: string;
}

const MAX_TIMEOUT_S = 3600;
const QUEUE_MANAGER = 'lccd-qm';

const VERBS: Record<string, Verb> = {
  pause: {
    done: (who, many) => `${who} ${many ? 'are' : 'is'} paused`,
    already: 'paused before',
    nothing: (who, many) => `${who} ${many ? 'are' : 'is'} paused already`,
  },
  resume: {
    // Not that it is fetched from: it may be disabled, or closed at this hour.
    done: (who, many) => `${who} ${many ? 'are' : 'is'} no longer paused`,
    already: 'not paused before',
    nothing: (who, many) => (many ? 'no provider was paused' : `${who} was not paused`),
  },
  flush: {
    done: who => `the delays of ${who} are forgotten, what failed is tried at once`,
    already: 'without a delay',
    nothing: (who, many) =>
      `${many ? 'no provider has a delay' : `${who} has no delay`}; what failed is tried at once`,
  },
  'want-full': {
    done: who => `${who} will be asked for a full set at the next connection`,
    already: 'asked before',
    nothing: who => `${who} will be asked for a full set anyway`,
  },
  release: {
    done: who => `the removals held back for ${who} are carried out`,
    already: 'without any',
    nothing: noneHeld,
  },
  discard: {
    done: who => `the removals held back for ${who} are dropped`,
    already: 'without any',
    nothing: noneHeld,
    // lcccpstate counts what it has sent as told, and names no removal twice.
    consequence:
      'what they named stays until the provider removes it again, or a full set without it is taken: lccctl want-full asks for one',
  },
};

function noneHeld(who: string, many: boolean): string {
  return `no removals ${many ? '' : `of ${who} `}are held back`;
}

export const command: CommandSpec = {
  name: 'lccctl',
  summary:
    'Tell the Queue Manager to stop or continue fetching, to forget delays, to ask for full sets, what becomes of held removals; back up and restore.',
  operands: `${Object.keys(VERBS).join('|')}|backup DIR|restore DIR`,
  options: [
    {
      flags: '--pid <N>',
      of: Object.keys(VERBS),
      help: 'the provider; without it all providers',
      once: true,
    },
    {
      flags: '--timeout <SECONDS>',
      of: Object.keys(VERBS),
      help: `how long the Queue Manager may take to answer (${ANSWER_TIMEOUT_MS / 1000})`,
    },
    {
      flags: '--moved',
      of: ['restore'],
      help: 'the LCC was stopped before its backup, and runs here from now on',
    },
    CONFIG_OPTION,
  ],
  example: 'lccctl pause --pid=7',
  run,
};

async function run(context: CommandContext): Promise<ExitStatus> {
  const [action = '', dir, ...more] = context.operands;
  if (action === 'backup' || action === 'restore') {
    if (dir === undefined || more.length > 0)
      throw new LccError('usage', `lccctl ${action}: name one folder`);
    // Other actions do not need these modules.
    return (await import('./copies.js'))[action](context, resolve(dir));
  }
  const word = context.operands.join(' ');
  const verb = actionOf(VERBS, word, ['backup', 'restore']);
  const pid = numberOf(context.options, 'pid', "give the provider's number, 1 or more");
  const timeoutMs = timeoutMsOf(context);
  const answer = await ask(homeOf(context.env).run, pid === undefined ? word : `${word} ${pid}`, timeoutMs);
  const { providers, changed, lccUntilMs, moving } = countsOf(answer);
  if (providers === 0 && moving === undefined) {
    context.say('there is no provider; add one with lccpidb');
    return EXIT.ok;
  }
  const who =
    pid !== undefined
      ? `provider ${pid}`
      : providers === 1
        ? 'the one provider'
        : `all ${providers} providers`;
  const many = providers > 1;
  const remark = providers === changed ? '' : ` (${providers - changed} ${verb.already})`;
  if (providers > 0) context.say(changed === 0 ? verb.nothing(who, many) : verb.done(who, many) + remark);
  if (changed > 0 && verb.consequence !== undefined) context.say(verb.consequence);
  if (lccUntilMs !== undefined)
    context.say(
      `the bandwidth of the whole LCC (qm.bandwidth_bytes_per_s) is used up until ${formatUntil(lccUntilMs, context.clock.nowMs())}; lccctl flush without --pid forgets that`,
    );
  if (moving !== undefined)
    throw new LccError(
      'try.later',
      `not done for providers that move to another home: ${moving}; lccmap list says how far they have come, then: lccctl ${word} --pid=N, at the home that has it`,
    );
  return EXIT.ok;
}

async function ask(runDir: string, line: string, timeoutMs: number): Promise<unknown> {
  try {
    return await tell(controlSocket(runDir, QUEUE_MANAGER), line, timeoutMs);
  } catch (error) {
    // Told is told: a Queue Manager that only hangs reads the line once it goes on, one that ended may have
    // done it before.
    if (error instanceof LccError && error.code === 'try.later')
      throw new LccError(
        'try.later',
        `${QUEUE_MANAGER} has not answered (${reasonOf(error)}): not known whether "${typedAs(line)}" is done, and it may yet be; see lccstat, then say it again`,
        { cause: error },
      );
    if (!(error instanceof LccError) || error.code !== 'peer.unavailable') throw error;
    if (errnoOf(error.cause) === 'EACCES')
      throw new LccError('peer.unavailable', `nothing is changed: ${error.message}; ${AS_ITS_USER}`, {
        cause: error,
      });
    throw new LccError(
      'peer.unavailable',
      `the Queue Manager is away, nothing is changed: ${error.message}; start lccd, or set LCC_HOME`,
      {
        cause: error,
      },
    );
  }
}

/** `pause --pid=7`: the line to the Queue Manager as its user typed it. */
function typedAs(line: string): string {
  const [word = '', pid] = line.split(' ');
  return pid === undefined ? word : `${word} --pid=${pid}`;
}

/** Without the path of the socket. */
function reasonOf({ message }: LccError): string {
  return message.slice(message.indexOf(': ') + 2);
}

function countsOf(answer: unknown): {
  providers: number;
  changed: number;
  lccUntilMs: number | undefined;
  /** Numbers of providers that it did not reach. */
  moving: string | undefined;
} {
  const { providers, changed, lcc_until_ms: lccUntilMs, moving } = Object(answer) as Record<string, unknown>;
  if (typeof providers !== 'number' || typeof changed !== 'number')
    throw new LccError(
      'peer.protocol',
      `unexpected answer of the Queue Manager: ${JSON.stringify(answer).slice(0, 200)}`,
    );
  return {
    providers,
    changed,
    lccUntilMs: typeof lccUntilMs === 'number' ? lccUntilMs : undefined,
    moving: Array.isArray(moving) && moving.length > 0 ? moving.join(', ') : undefined,
  };
}

function timeoutMsOf(context: CommandContext): number {
  const text = context.options['timeout'];
  if (text === undefined) return ANSWER_TIMEOUT_MS;
  const seconds = typeof text === 'string' && /^\d{1,4}(\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (seconds <= 0 || seconds > MAX_TIMEOUT_S)
    throw new LccError('usage', `--timeout=${String(text)}: give seconds, 0.001 to ${MAX_TIMEOUT_S}`);
  return seconds * 1000;
}
