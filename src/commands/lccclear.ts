/** lccclear(1): requests for clearing. Status 0 says that they are durable; two daemons carry them out. */
import { setTimeout as sleep } from 'node:timers/promises';
import { clearOptions, stoppedDaemons } from '../clear/options.js';
import { amount } from '../config/words.js';
import type { Config } from '../config/types.js';
import { readRules, type FeedRules } from '../clear/intake/feed-rules.js';
import { LineReader } from '../clear/intake/line-reader.js';
import { queueRoom } from '../clear/intake/queue-room.js';
import { RequestIntake } from '../clear/intake/request-intake.js';
import {
  LINE_FORMATS,
  requestOf,
  type LineRequest,
  type RequestDefaults,
} from '../clear/intake/request-line.js';
import { waitForRequests, type WaitResult } from '../clear/intake/wait.js';
import { ClearDatabase } from '../db/clear/database.js';
import { COMMAND_BUSY_MS } from '../db/clear/open.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { CHUNK_BYTES, readChunks } from '../lib/stdio.js';
import { keptAction } from './engine-wait.js';
import { CONFIG_OPTION, configOf, textOf, waitMsOf } from './options.js';
import type { CommandContext, CommandSpec } from './run.js';

/** Larger than what a pipe holds: a read that does not fill it has all there was. */
const READ_BYTES = 2 * CHUNK_BYTES;
/** Lines that are named, of those that clear nothing; the others are counted. */
const SHOWN_LINES = 5;

export const command: CommandSpec = {
  name: 'lccclear',
  summary: 'Have pages cleared from all rails of a target. Status 0: the request is durable.',
  operands: '[ID...]',
  options: [
    { flags: '--target <NAME>', help: 'the target, or a group of targets, whose rails are cleared' },
    {
      flags: '--type <TYPE>',
      help: 'content type of the ids; without it they are paths of pages, or absolute urls',
    },
    {
      flags: '--stdin <FORMAT>',
      help: 'requests from standard input: tsv, jsonl or urls',
      choices: Object.keys(LINE_FORMATS),
    },
    { flags: '--soft', help: 'have the pages replaced by new ones, instead of deleted' },
    { flags: '--force', help: 'delete also those pages that a soft rule would have replaced' },
    {
      flags: '--wait [SECONDS]',
      help: 'until they are carried out: 0 then; 75 when SECONDS are over, 65 when one cannot be',
    },
    { flags: '--rules <FILE>', help: 'with --stdin=jsonl: the changes of lccq(1), and what each means' },
    {
      flags: '--cursor <NAME>',
      help: 'with --rules: changes up to the one taken last under NAME are passed over',
    },
    {
      flags: '--show',
      help: 'with --cursor: print the number of that change, 0 when there is none, and end',
    },
    CONFIG_OPTION,
  ],
  example:
    'lccclear --target=www /news/index.html /news/4711.html\nlccq --cursor=clear.cursor --format=jsonl -- lccclear --stdin=jsonl --rules=rules.json',
  run,
};

async function run(context: CommandContext): Promise<ExitStatus> {
  const { options } = context;
  const text = (name: string) => textOf(options, name);
  const waitMs = waitMsOf('--wait', options['wait']);
  checkOptions(context);
  const config = configOf(context);
  const clearing = clearOptions(config);
  const { path } = clearing;
  const cursor = text('cursor');
  if (options['show'] === true) {
    const db = ClearDatabase.openForReading(path);
    context.print(`${db.numbers.cursor(cursor ?? '') ?? 0}\n`);
    db.close();
    return EXIT.ok;
  }
  const rules = text('rules') === undefined ? undefined : readRules(text('rules') ?? '');
  return keptAction(context, config, 'clear', () =>
    take(context, { config, clearing, cursor, rules, waitMs }),
  );
}

interface Given {
  config: Config;
  clearing: ReturnType<typeof clearOptions>;
  cursor: string | undefined;
  rules: FeedRules | undefined;
  waitMs: number | undefined;
}

/** Takes the requests, and waits for them where that is wanted. */
async function take(
  context: CommandContext,
  { config, clearing, cursor, rules, waitMs }: Given,
): Promise<ExitStatus> {
  const { options, operands } = context;
  const text = (name: string) => textOf(options, name);
  const { path } = clearing;
  const db = ClearDatabase.openExisting(path, COMMAND_BUSY_MS);
  try {
    const intake = new RequestIntake({
      db,
      clock: context.clock,
      cursor,
      resolve: clearing.resolve,
      isSoft: options['soft'] === true,
    });
    const defaults: RequestDefaults = {
      target: text('target'),
      type: text('type'),
      force: options['force'] === true,
      source: text('stdin') === undefined ? 'arguments' : (cursor ?? 'stdin'),
      utf8: config.get('clear.utf8'),
      hasTarget: name => intake.hasTarget(name),
      rules,
    };
    const named = [...(rules?.values() ?? []), defaults].map(({ target }) => target);
    for (const target of named)
      if (target !== undefined && !intake.hasTarget(target))
        throw new LccError('config', `there is no target ${target}; lccrail target add makes one`);
    const room = queueRoom(db, config.get('clear.max_queued'), context.complain, sleep);
    const reading = new RequestReading(context, intake, defaults, room);
    for (const [i, id] of operands.entries()) await reading.take(requestOf(id, defaults), `operand ${i + 1}`);
    if (text('stdin') !== undefined) await reading.readInput(text('stdin') ?? '');
    await reading.commit();
    reading.report(options['soft'] === true);
    for (const target of intake.targetsWithoutRails)
      context.complain(`target ${target} has no rails: nothing of it is cleared; lccrail add`);
    const status = reading.isRefused ? EXIT.dataerr : EXIT.ok;
    if (waitMs === undefined || reading.isRefused) return status;
    for (const daemon of stoppedDaemons(clearing)) context.complain(`${daemon} does not run`);
    const result = await waitForRequests(db, context.clock, intake, clearing.resolve, waitMs, sleep);
    return outcome(context, result);
  } finally {
    db.close();
  }
}

/** Requests that come in, and the words on them. */
class RequestReading {
  readonly #context: CommandContext;
  readonly #intake: RequestIntake;
  readonly #defaults: RequestDefaults;
  readonly #room: ReturnType<typeof queueRoom>;
  #refused = 0;
  #nothing = 0;
  #known = 0;
  /** Changes that a rule names, and that clear nothing all the same. */
  #unclear = 0;
  #firstUnclear: string | undefined;

  constructor(
    context: CommandContext,
    intake: RequestIntake,
    defaults: RequestDefaults,
    room: ReturnType<typeof queueRoom>,
  ) {
    this.#context = context;
    this.#intake = intake;
    this.#defaults = defaults;
    this.#room = room;
  }

  get isRefused(): boolean {
    return this.#refused > 0;
  }

  async readInput(format: string): Promise<void> {
    const parse = Object.hasOwn(LINE_FORMATS, format) ? LINE_FORMATS[format] : undefined;
    if (parse === undefined)
      throw new LccError('usage', `--stdin=${format}: there are ${Object.keys(LINE_FORMATS).join(', ')}`);
    const lines = new LineReader();
    for (const chunk of readChunks(this.#context.stdin, 'standard input', READ_BYTES)) {
      for (const line of lines.read(chunk)) await this.#line(line, parse);
      if (chunk.length < READ_BYTES) await this.commit();
    }
    for (const line of lines.end()) await this.#line(line, parse);
  }

  async #line(
    { number, text, problem }: { number: number; text?: string; problem?: string },
    parse: (text: string, defaults: RequestDefaults) => LineRequest,
  ): Promise<void> {
    const where = `line ${number}`;
    if (text === undefined) this.#refuse(where, problem ?? '');
    else await this.take(parse(text, this.#defaults), where);
  }

  async take(found: LineRequest, where: string): Promise<void> {
    if ('problem' in found) return this.#refuse(where, found.problem);
    const { seq } = found;
    if (seq !== undefined && this.#intake.isKnown(seq)) {
      this.#known += 1;
      return;
    }
    if ('nothing' in found) this.#clearsNothing(where, found);
    else {
      const rejected = this.#intake.add(found.request);
      if (rejected !== undefined && this.#defaults.rules === undefined) return this.#refuse(where, rejected);
      // The feed must go on.
      if (rejected !== undefined) this.#clearsNothing(where, { nothing: rejected, hasRule: true });
    }
    if (seq !== undefined) this.#intake.moveTo(seq);
    if (this.#intake.isSliceFull) await this.commit();
  }

  #clearsNothing(where: string, { nothing, hasRule }: { nothing: string; hasRule: boolean }): void {
    this.#nothing += 1;
    if (this.#nothing <= SHOWN_LINES) this.#context.say(`${where}: clears nothing: ${nothing}`);
    if (!hasRule) return;
    this.#unclear += 1;
    this.#firstUnclear ??= `${where}: ${nothing}`;
  }

  report(soft: boolean): void {
    const { say, complain, verbose } = this.#context;
    const { queued } = this.#intake;
    if (this.#nothing > SHOWN_LINES) say(`${amount(this.#nothing, 'change')} cleared nothing`);
    if (this.#firstUnclear !== undefined)
      complain(
        `${amount(this.#unclear, 'change')} that a rule names cleared nothing; the first: ${this.#firstUnclear}`,
      );
    if (this.#known > 0 && queued === 0 && this.#nothing === 0)
      complain(
        `all ${this.#known} changes were taken before (--cursor); where the LCC has a new database, give another name`,
      );
    if (this.#refused > 0) complain(`${amount(this.#refused, 'request')} refused, ${queued} queued`);
    else if (verbose)
      say(soft ? `${amount(queued, 'request')} published` : `${amount(queued, 'request')} queued`);
  }

  #refuse(where: string, problem: string): void {
    this.#refused += 1;
    this.#context.complain(`${where}: ${problem}`);
  }

  async commit(): Promise<void> {
    if (this.#intake.pending > 0) await this.#room(this.#intake.pending);
    this.#intake.commit();
  }
}

/** Says what became of requests that were waited for. */
function outcome(context: CommandContext, { state, waiting, problems, down }: WaitResult): ExitStatus {
  for (const [rail, pages] of down)
    context.say(`rail ${rail} is DOWN: ${amount(pages, 'page waits', 'pages wait')} for it`);
  for (const problem of problems) context.complain(problem);
  if (state === 'waiting')
    context.complain(`${amount(waiting, 'request')} not carried out yet; see lccclearq, lccrail status`);
  return state === 'done' ? EXIT.ok : state === 'rejected' ? EXIT.dataerr : EXIT.tempfail;
}

/** @throws LccError `usage` for what does not go together */
function checkOptions({ options, operands }: CommandContext): void {
  const refuse = (message: string): never => {
    throw new LccError('usage', message);
  };
  const { stdin, rules, cursor, show, soft, force, type } = options;
  if (show === true) {
    if (cursor === undefined) refuse('--show needs --cursor=NAME');
    return;
  }
  if (operands.length === 0 && stdin === undefined)
    refuse('nothing to clear; give paths of pages, ids with --type, or --stdin=FORMAT');
  if (operands.length > 0 && stdin !== undefined)
    refuse('ids and --stdin do not go together; run once for each');
  if (rules !== undefined && stdin !== 'jsonl') refuse('--rules goes with --stdin=jsonl');
  if (cursor !== undefined && rules === undefined)
    refuse('--cursor goes with --rules: only changes of lccq have numbers');
  if (soft === true && force === true) refuse('--soft and --force do not go together');
  if (type === '') refuse('--type is empty');
}
