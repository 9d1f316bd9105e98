/** lccq(1): what the LCC holds and what changed, for people, programs and indexers. */
import { LEAST_CHUNK_SIZE, MOST_CHUNK_SIZE } from '../text/chunks.js';
import { Converter } from '../text/convert/converter.js';
import type { TextWanted } from '../text/html.js';
import { commitNext } from '../cu/cursor.js';
import { deliver } from '../cu/deliver.js';
import { commitAll, deliverAll } from '../cu/shards.js';
import { parseFields } from '../cu/fields.js';
import { FORMAT_NAMES, formatNamed } from '../cu/formats/index.js';
import type { Consumer } from '../cu/consumer.js';
import type { DeliveryTalk } from '../cu/cursor-move.js';
import { whenShipped } from '../daemon/when-shipped.js';
import { sidesOf } from '../cu/query.js';
import type { Delivery } from '../cu/types.js';
import { readingError } from '../db/sqlite/open.js';
import { constants } from 'node:os';
import { join } from 'node:path';
import { EXIT, LccError } from '../lib/errors.js';
import { watchReader } from '../lib/pipe-reader.js';
import { Output, writeFullyLater } from '../lib/stdio.js';
import { parseWhen } from '../lib/when.js';
import type { Config } from '../config/load.js';
import { askedOf, FROM_OPTIONS, peersAsked } from './from-options.js';
import { fromNow } from './lccq-from-now.js';
import { configOf, numberOf, textOf } from './options.js';
import { SHARD_OPTIONS, shardsOf } from './shard-options.js';
import type { CommandContext, CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccq',
  summary: 'Select from the Local Content Cache: what is held, what changed, what is gone.',
  operands: '[-- CMD ARGS...]',
  isFilter: true,
  writesUrls: context => context?.options['format'] === 'xml' && context.afterDashes === undefined,
  options: [
    {
      flags: '--since <TIME>',
      help: 'changed at or after TIME (2h, 3d, 2026-11-20, RFC 3339, epoch seconds)',
    },
    { flags: '--until <TIME>', help: 'changed last before TIME' },
    { flags: '--cursor <FILE>', help: 'changed since the run that last moved the cursor in FILE' },
    {
      flags: '--from-now',
      help: 'make the cursor of --cursor, which begins with the next change; nothing else',
    },
    { flags: '--commit <FILE>', help: 'move the cursor in FILE on, after a pipe; does nothing else' },
    { flags: '--pid <N>', help: 'of provider N', once: true },
    { flags: '--prefix <URL>', help: 'whose conceptual URL begins with URL', once: true },
    { flags: '--mime <GLOB>', help: 'whose mimetype matches GLOB, e.g. text/*', once: true },
    { flags: '--deleted', help: 'only deletions' },
    {
      flags: '--no-deleted',
      help: 'no deletions (without --since, --cursor and --follow there are none anyway)',
    },
    {
      flags: '--format <NAME>',
      help: `one of ${FORMAT_NAMES.join(', ')}`,
      default: 'xml',
      choices: FORMAT_NAMES,
    },
    {
      flags: '--fields <NAMES>',
      help: 'fields to print, separated by commas (xml, jsonl, chunks, tsv, csv)',
    },
    { flags: '--content', help: 'with the content itself (xml, jsonl)' },
    {
      flags: '--text [WHICH]',
      help: 'with title and text of the content instead (jsonl): readable (the default), or all words',
      choices: ['readable', 'all'],
    },
    {
      flags: '--markdown [WHICH]',
      help: 'with the content as Markdown instead (jsonl, tar): readable (the default), or all of it',
      choices: ['readable', 'all'],
    },
    { flags: '--chunk-size <N>', help: 'characters of a piece at most (chunks)' },
    { flags: '--limit <N>', help: 'at most N records; a cursor stops there too' },
    {
      flags: '--follow',
      help: 'stay, and go on with every change; with -- CMD run it for each batch of them',
    },
    {
      flags: '--batch <N>',
      help: 'with -- CMD: run it for at most N records, move the cursor, and run it again',
    },
    {
      flags: '--stay',
      help: 'with -- CMD and --follow or --batch: run it once; it answers each batch with the line ok (xml, jsonl, chunks)',
    },
    ...FROM_OPTIONS,
    ...SHARD_OPTIONS,
    {
      flags: '--skip-away',
      help: 'leave out rows whose content is on a machine that does not answer, instead of ending with 75',
    },
    { flags: '--count', help: 'print only how many records there are' },
    { flags: '--config <FILE>', help: 'configuration file' },
  ],
  example: 'lccq --cursor=docs.cursor --format=fts5-sql -- sqlite3 -bail docs.db',
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options } = context;
  if (context.operands.length > 0)
    throw new LccError('usage', `unexpected operand "${context.operands[0]}"; a program goes after --`);
  if (typeof options['commit'] === 'string') return commit(context, options['commit']);
  if (options['fromNow'] === true) return fromNow(context);
  const config = configOf(context);
  const shards = await shardsOf(context, config);
  const from = shards === undefined ? await askedOf(context, config) : undefined;
  const isElsewhere = from !== undefined || shards !== undefined;
  const peers = isElsewhere ? undefined : await peersAsked(context, config);
  const delivery = { ...deliveryOf(context, config, isElsewhere), from, peers };
  const { follows, cursor, consumer, query } = delivery;
  if (shards && follows && (cursor === undefined || consumer === undefined || query.limit !== undefined))
    throw new LccError(
      'usage',
      '--all --follow takes the homes in turn, and has no limit; give --cursor=FILE and -- CMD, leave out --limit',
    );
  const signals = new Signals(delivery, context);
  if (follows && consumer === undefined) endWithReader(context);
  const stdout = follows ? laterOutput(context.stdout) : new Output(context.stdout);
  const talk: DeliveryTalk = {
    reject: message => context.complain(message),
    namesAll: context.verbose,
    note: message => context.say(message),
    explain: message => void (context.verbose && context.say(message)),
    advance: context.progress('records', context.afterDashes === undefined),
    started: consumer => (signals.consumer = consumer),
    ended: () => (signals.consumer = undefined),
  };
  const following = { clock: context.clock, stop: signals.stop };
  try {
    return shards === undefined
      ? await deliver(delivery, stdout, talk, following)
      : await deliverAll(delivery, shards.list, stdout, talk, following);
  } catch (error) {
    throw readingError(delivery.dbPath, error);
  } finally {
    shards?.close();
  }
}

/** Standard output with --follow: a reader that dawdles must not keep signals away. */
const laterOutput = (stdout: number) => ({
  write: (data: string | Uint8Array) =>
    writeFullyLater(stdout, typeof data === 'string' ? Buffer.from(data) : data, 'standard output'),
  flush: () => undefined,
});

/** How often a run with --follow checks that its output still has a reader: nothing may change for days. */
const READER_LOOK_MS = 2000;

/** Ends as the next write would, silently, once the pipe has no reader any more. */
function endWithReader({ stdout, clock, end }: CommandContext): void {
  const isGone = watchReader(stdout);
  if (isGone === undefined) return;
  const look = () => {
    if (isGone()) end(EXIT.ok);
    clock.after(READER_LOOK_MS, look);
  };
  clock.after(READER_LOOK_MS, look);
}

/** From a signal until a reader that hangs is given up, or it is said which program is waited for. */
const STOP_MS = 2000;

/**
 * SIGINT and SIGTERM are passed on to a program that has a stream; what it makes of them is waited for, with
 * its cursor locked: it may finish what it has begun. No further stream begins. A second signal ends us at
 * once.
 */
class Signals {
  consumer: Consumer | undefined;
  readonly #stop = new AbortController();

  constructor({ consumer, follows, batch }: Delivery, { say, clock, end }: CommandContext) {
    const name = consumer?.name;
    if (!follows && name === undefined) return;
    const isInStreams = follows || batch !== undefined;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        this.consumer?.kill(signal);
        if (this.#stop.signal.aborted || (this.consumer === undefined && !isInStreams))
          end(128 + constants.signals[signal]);
        this.#stop.abort();
        clock.after(STOP_MS, () => {
          if (name === undefined) return dieOf(signal);
          say(`${signal}: waiting for ${name} to end; a second signal ends lccq without it`);
        });
      });
    }
  }

  get stop(): AbortSignal {
    return this.#stop.signal;
  }
}

/** By the signal itself: a write that hangs would keep an exit waiting. */
function dieOf(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

function commit(context: CommandContext, file: string): number {
  const others = Object.keys(context.options).filter(
    name => !['commit', 'all', 'quiet', 'verbose', 'format', 'deleted'].includes(name),
  );
  if (others.length > 0 || context.afterDashes !== undefined)
    throw new LccError('usage', '--commit moves a cursor on and takes no other option but --all');
  const moved =
    context.options['all'] === true ? commitAll(file) : [`${file} moved to change ${commitNext(file).seq}`];
  if (context.verbose) for (const each of moved) context.say(each);
  return EXIT.ok;
}

/** @throws LccError `usage` for options that contradict each other */
function deliveryOf(context: CommandContext, config: Config, isElsewhere: boolean): Delivery {
  const text = (name: string) => textOf(context.options, name);
  const number = (name: string) => numberOf(context.options, name, 'give a number from 1');
  const cursor = text('cursor');
  const format = formatNamed(text('format') ?? 'xml');
  const fields = text('fields');
  const content = context.options['content'] === true;
  const wanted = textWanted('text', context.options['text']);
  const markdown = textWanted('markdown', context.options['markdown']);
  const [min, max] = [LEAST_CHUNK_SIZE, MOST_CHUNK_SIZE];
  const range = `give a number from ${min} to ${max}`;
  const chunkSize = numberOf(context.options, 'chunkSize', range, { min, max });
  for (const [asked, takesIt = false, why] of [
    [fields, format.takesFields, 'has no fields to choose; leave out --fields'],
    [wanted, format.takesText, 'has no text of pages; --text is for jsonl'],
    [markdown, format.takesMarkdown, 'has no Markdown; --markdown is for jsonl and tar'],
    [chunkSize, format.takesChunkSize, 'has no pieces; --chunk-size is for chunks'],
    [content || undefined, format.takesContent, 'has no choice of content; leave out --content'],
  ] as const)
    if (asked !== undefined && !takesIt) throw new LccError('usage', `--format=${text('format')} ${why}`);
  if (markdown !== undefined && (content || wanted !== undefined))
    throw new LccError('usage', '--markdown stands in place of --text and --content; leave them out');
  if (cursor !== undefined && (text('since') ?? text('until')) !== undefined)
    throw new LccError('usage', '--cursor says since when by itself; leave out --since and --until');
  const follows = context.options['follow'] === true;
  if (follows && (context.options['count'] === true || text('until') !== undefined))
    throw new LccError('usage', '--follow has no end that --count or --until could wait for; leave them out');
  const batch = number('batch');
  if (batch !== undefined && (context.afterDashes === undefined || context.options['count'] === true))
    throw new LccError('usage', '--batch is how many records a run of a program gets; give -- CMD');
  const stays = context.options['stay'] === true;
  if (stays && (context.afterDashes === undefined || (!follows && batch === undefined)))
    throw new LccError(
      'usage',
      '--stay is for a program that takes batch after batch; give -- CMD and --follow or --batch',
    );
  if (stays && format.betweenStreams === undefined)
    throw new LccError(
      'usage',
      `--format=${text('format')} does not show where a batch ends; --stay is for xml, jsonl and chunks`,
    );
  const [name, ...args] = context.afterDashes ?? [];
  if (context.afterDashes !== undefined && (name ?? '') === '')
    throw new LccError('usage', 'no program after --');
  const isChangeStream = follows || cursor !== undefined || text('since') !== undefined;
  const { deleted } = context.options;
  const sides = sidesOf(
    deleted === undefined ? undefined : deleted === true ? 'only' : 'no',
    isChangeStream || !format.sides.includes('held'),
  );
  if (!sides.some(side => format.sides.includes(side)))
    throw new LccError(
      'usage',
      `--format=${text('format')} lists what is ${format.sides.join()}; it cannot show the other`,
    );
  if (format.ofOldPaths && text('prefix') !== undefined)
    throw new LccError('usage', '--format=gone-paths knows files, not URLs; leave out --prefix');
  const nowMs = context.clock.nowMs();
  const when = (name: string) => {
    const value = text(name);
    return value === undefined ? undefined : parseWhen(value, nowMs);
  };
  if (isElsewhere && (format.ofOldPaths === true || format.local === true))
    throw new LccError(
      'usage',
      `--format=${text('format')} names files of the other machine; leave out --from and --all, or take tar or jsonl --content`,
    );
  const named = fields === undefined ? undefined : parseFields(fields);
  if (isElsewhere && named?.includes('file') === true)
    throw new LccError(
      'usage',
      '--fields: file is one of the other machine; leave it out with --from and --all',
    );
  return {
    dbPath: config.home.db,
    machineId: config.get('bm.machine_id'),
    query: {
      selection: {
        sides,
        since: when('since'),
        until: when('until'),
        pid: number('pid'),
        prefix: text('prefix'),
        mime: text('mime'),
      },
      format,
      fields: named,
      content,
      text: wanted,
      markdown,
      chunkSize,
      converter: converterOf(config, context),
      limit: number('limit'),
      storeDir: config.home.store,
      maxTextBytes: config.get('cu.max_text_bytes'),
      nowMs,
    },
    cursor,
    shipped: cursor === undefined || isElsewhere ? undefined : whenShipped(config, context.clock),
    consumer: name === undefined ? undefined : { name, args, stdout: context.stdout, stderr: context.stderr },
    follows,
    stays,
    batch,
    count: context.options['count'] === true,
    split: {
      script: join(import.meta.dirname, 'range-worker.cjs'),
      formatName: text('format') ?? 'xml',
    },
  };
}

/** @throws LccError `usage` */
function textWanted(name: string, option: unknown): TextWanted | undefined {
  if (option === undefined) return undefined;
  if (option === true || option === 'readable') return 'readable';
  if (option === 'all') return 'all';
  throw new LccError('usage', `--${name}=${JSON.stringify(option)}: give readable or all`);
}

/** @throws LccError `config` */
function converterOf(
  config: ReturnType<typeof configOf>,
  { clock, say }: CommandContext,
): Converter | undefined {
  const { convert, cu } = config.settings;
  if (convert.commands.length === 0) return undefined;
  return new Converter({ ...convert, maxOutputBytes: cu.maxTextBytes, clock, note: message => say(message) });
}
