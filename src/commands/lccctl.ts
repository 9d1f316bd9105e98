/** lccctl(8): the operator's hand on the Queue Manager. */
import { homeOf } from '../config/load.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { controlSocket, tell } from '../run/ask.js';
import type { CommandContext, CommandSpec } from './run.js';

interface Verb {
  /** Said of `provider 7` or `all 3 providers`. */
  done: (who: string, many: boolean) => string;
  /** Said of those for which nothing had to change. */
  already: string;
}

/** A full set or a release may keep the Queue Manager busy for a while. */
const TIMEOUT_MS = 60_000;
const QUEUE_MANAGER = 'lccd-qm';

const VERBS: Record<string, Verb> = {
  pause: {
    done: (who, many) => `${who} ${many ? 'are' : 'is'} paused`,
    already: 'paused before',
  },
  resume: {
    done: (who, many) => `${who} ${many ? 'are' : 'is'} fetched from`,
    already: 'not paused',
  },
  flush: { done: who => `the delays of ${who} are forgotten`, already: 'without a delay' },
  'want-full': {
    done: who => `${who} will be asked for a full set at the next connection`,
    already: 'asked before',
  },
  release: { done: who => `the removals held back for ${who} are carried out`, already: 'without any' },
  discard: { done: who => `the removals held back for ${who} are dropped`, already: 'without any' },
};

export const command: CommandSpec = {
  name: 'lccctl',
  summary:
    'Tell the Queue Manager to stop or continue fetching, to forget delays, to ask for full sets, what becomes of held removals.',
  operands: Object.keys(VERBS).join('|'),
  options: [{ flags: '--pid <N>', help: 'the provider; without it all providers' }],
  example: 'lccctl pause --pid=7',
  run,
};

async function run(context: CommandContext): Promise<ExitStatus> {
  const [word = '', ...more] = context.operands;
  const verb = Object.hasOwn(VERBS, word) ? VERBS[word] : undefined;
  if (verb === undefined || more.length > 0) {
    const given = context.operands.join(' ');
    const verbs = Object.keys(VERBS).join(', ');
    throw new LccError(
      'usage',
      `${given === '' ? 'nothing to do' : `"${given}" is no action`}; give one of ${verbs}`,
    );
  }
  const pid = pidOf(context);
  const answer = await ask(homeOf(context.env).run, pid === undefined ? word : `${word} ${pid}`);
  const { providers, changed } = countsOf(answer);
  if (providers === 0) {
    context.say('there is no provider; add one with lccpidb');
    return EXIT.ok;
  }
  const who =
    pid !== undefined
      ? `provider ${pid}`
      : providers === 1
        ? 'the one provider'
        : `all ${providers} providers`;
  const before = providers - changed;
  const remark = before === 0 ? '' : providers === 1 ? ` (${verb.already})` : ` (${before} ${verb.already})`;
  context.say(verb.done(who, providers > 1) + remark);
  return EXIT.ok;
}

async function ask(runDir: string, line: string): Promise<unknown> {
  try {
    return await tell(controlSocket(runDir, QUEUE_MANAGER), line, TIMEOUT_MS);
  } catch (error) {
    if (!(error instanceof LccError) || error.code !== 'peer.unavailable') throw error;
    throw new LccError(
      'peer.unavailable',
      `the Queue Manager is away, nothing is changed: ${error.message}; start lccd, or set LCC_HOME`,
      {
        cause: error,
      },
    );
  }
}

function countsOf(answer: unknown): { providers: number; changed: number } {
  const { providers, changed } = Object(answer) as { providers?: unknown; changed?: unknown };
  if (typeof providers !== 'number' || typeof changed !== 'number')
    throw new LccError(
      'peer.protocol',
      `unexpected answer of the Queue Manager: ${JSON.stringify(answer).slice(0, 200)}`,
    );
  return { providers, changed };
}

function pidOf(context: CommandContext): number | undefined {
  const text = context.options['pid'];
  if (text === undefined) return undefined;
  const pid = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (pid < 1) throw new LccError('usage', `--pid=${String(text)}: give the provider's number, 1 or more`);
  return pid;
}
