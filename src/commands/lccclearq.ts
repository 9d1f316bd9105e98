/** lccclearq(1): what of cache clearing is not done yet, on which rail, and why. */
import { clearOptions } from '../clear/options.js';
import type { Config } from '../config/types.js';
import { amount, formatDuration } from '../config/words.js';
import type { BacklogRow } from '../db/clear/backlog.js';
import { ClearDatabase } from '../db/clear/database.js';
import { COMMAND_BUSY_MS } from '../db/clear/open.js';
import type { RejectedRow, RequestRow } from '../db/clear/queue.js';
import type { PublishedPage } from '../db/clear/soft.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { keptAction } from './engine-wait.js';
import { CONFIG_OPTION, configOf, numberOf, textOf } from './options.js';
import type { CommandContext, CommandSpec } from './run.js';

const PAGE_ROWS = 1000;
const SHOWN_ROWS = 1000;
const MAX_COUNT = 100_000_000;

type Row = Record<string, string | number | null>;
/** The list of each word. */
const LISTS: Record<string, (db: ClearDatabase) => Generator<Row, void>> = {
  pending: listOf<RequestRow>(
    ['id', 'content_id', 'content_type', 'target', 'force', 'enqueued_ms'],
    (db, last) => db.queue.after(last?.id ?? 0, PAGE_ROWS),
  ),
  unpublished: listOf<PublishedPage>(
    ['url', 'target', 'published_ms', 'attempts', 'next_try_ms', 'last_error'],
    (db, last) => db.soft.due(Number.MAX_SAFE_INTEGER, PAGE_ROWS, last),
  ),
  backlog: backlogOf(0),
  dead: backlogOf(1),
  rejected: listOf<RejectedRow>(
    ['id', 'content_id', 'content_type', 'target', 'error', 'at_ms'],
    (db, last) => db.queue.rejections(last?.id ?? 0, PAGE_ROWS),
  ),
};

function backlogOf(dead: 0 | 1) {
  return listOf<BacklogRow>(
    ['rail', 'url', 'op', 'first_ms', 'attempts', 'next_ms', 'last_error'],
    (db, last) => db.backlog.list(last ?? { rail: '', url: '' }, PAGE_ROWS),
    row => row.dead === dead,
  );
}

/** A page at a time: each is what comes after the last row of the one before. @param names of the fields that
 * are shown */
function listOf<T extends object>(
  names: readonly string[],
  pageAfter: (db: ClearDatabase, last: T | undefined) => readonly T[],
  isShown: (row: T) => boolean = () => true,
): (db: ClearDatabase) => Generator<Row, void> {
  const keys = names.map(name => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()));
  return function* (db) {
    for (let last: T | undefined; ;) {
      const rows = pageAfter(db, last);
      for (const row of rows.filter(isShown)) {
        const values = row as Record<string, Row[string] | undefined>;
        yield Object.fromEntries(names.map((name, i) => [name, shown(name, values[keys[i] ?? ''])]));
      }
      if (rows.length < PAGE_ROWS) return;
      last = rows.at(-1);
    }
  };
}

function shown(name: string, value: Row[string] | undefined): Row[string] {
  if (name === 'op') return value === 'D' ? 'clear' : 'put';
  return value ?? '';
}

export const command: CommandSpec = {
  name: 'lccclearq',
  summary: 'What of cache clearing waits, is given up or was rejected: counts, or with a word its rows.',
  operands: `[${Object.keys(LISTS).join('|')}]`,
  options: [
    { flags: '--rail <NAME>', help: 'backlog, dead, --retry, --drop: of this rail only', once: true },
    { flags: '--url <PATH>', help: 'backlog, dead, --retry, --drop: this page only', once: true },
    { flags: '--limit <N>', help: `rows at most (${SHOWN_ROWS})` },
    { flags: '--json', help: 'one JSON object a line' },
    { flags: '--retry', help: 'try at once what waits in backlogs, and again what is dead' },
    {
      flags: '--drop [ID]',
      help: 'forget a request or a rejection by its number; without one what --rail and --url name',
      once: true,
    },
    { flags: '--yes', help: 'with --drop: it is forgotten without being done' },
    CONFIG_OPTION,
  ],
  example: 'lccclearq backlog --rail=www3\nlccclearq --retry --rail=www3',
  run,
};

async function run(context: CommandContext): Promise<ExitStatus> {
  const { options, operands } = context;
  const [word, ...more] = operands;
  if (more.length > 0 || (word !== undefined && !Object.hasOwn(LISTS, word)))
    throw new LccError(
      'usage',
      `"${operands.join(' ')}" is no list; give one of ${Object.keys(LISTS).join(', ')}`,
    );
  const isChange = options['retry'] === true || options['drop'] !== undefined;
  if (isChange && (word !== undefined || (options['retry'] === true && options['drop'] !== undefined)))
    throw new LccError('usage', 'a list, --retry and --drop do not go together; run once for each');
  if (options['drop'] !== undefined && options['yes'] !== true)
    throw new LccError('usage', '--drop forgets it without doing it; add --yes');
  const config = configOf(context);
  if (isChange) await keptAction(context, config, 'clear', () => act(context, config, true));
  else act(context, config, false);
  return EXIT.ok;
}

function act(context: CommandContext, config: Config, isChange: boolean): void {
  const { options, operands } = context;
  const [word] = operands;
  const { path } = clearOptions(config);
  const db = isChange
    ? ClearDatabase.openExisting(path, COMMAND_BUSY_MS)
    : ClearDatabase.openForReading(path);
  try {
    if (options['retry'] === true) retry(db, context);
    else if (options['drop'] !== undefined) drop(db, context);
    else if (word === undefined) summary(db, context);
    else list(db, context, word);
  } finally {
    db.close();
  }
}

function retry(db: ClearDatabase, context: CommandContext): void {
  const where = whereOf(db, context);
  const rows = db.write(() => db.backlog.retry(where));
  context.say(rows === 0 ? 'nothing waits there' : `${amount(rows, 'page')} tried again at once`);
}

function drop(db: ClearDatabase, context: CommandContext): void {
  const { drop: text } = context.options;
  const { rail, url } = whereOf(db, context);
  if (typeof text === 'string') {
    if (!/^[1-9]\d{0,14}$/.test(text) || rail !== undefined || url !== undefined)
      throw new LccError(
        'usage',
        `--drop=${text}: give the number of a request or a rejection, and neither rail nor url`,
      );
    const id = Number(text);
    const found = db.write(() => db.queue.drop(id) ?? db.queue.dropRejected(id));
    if (found === undefined)
      throw new LccError('usage', `--drop=${text}: neither queued nor rejected; see lccclearq pending`);
    context.say(`${found.contentId} (${found.contentType}) on ${found.target} is forgotten`);
    return;
  }
  if (rail === undefined || url === undefined)
    throw new LccError('usage', '--drop: give a number, or --rail and --url');
  if (!db.write(() => db.backlog.drop(rail, url)))
    throw new LccError('usage', `rail ${rail} has no ${url} in its backlog; see lccclearq backlog`);
  context.say(`rail ${rail} keeps ${url} as it is`);
}

function summary(db: ClearDatabase, context: CommandContext): void {
  const nowMs = context.clock.nowMs();
  const { pending, oldestMs, backlogs, publications, rejected } = db.read(() => ({
    pending: db.queue.count(MAX_COUNT),
    oldestMs: db.queue.oldestMs(),
    backlogs: db.backlog.counts(),
    publications: db.soft.waitingCount(),
    rejected: db.queue.rejectedCount(),
  }));
  if (context.options['json'] === true) {
    const rails = backlogs.map(({ rail, waiting, dead, oldestMs: oldest }) => ({
      rail,
      waiting,
      dead,
      oldest_ms: oldest,
    }));
    print(context, { pending, oldest_ms: oldestMs ?? null, publications, rejected, rails });
    return;
  }
  const age =
    oldestMs === undefined ? '' : `, the oldest for ${formatDuration(Math.max(0, nowMs - oldestMs) / 1000)}`;
  const lines = [
    `pending ${pending}${age}`,
    `to be published ${publications}`,
    ...backlogs.map(({ rail, waiting, dead, oldestMs: oldest }) => {
      const since =
        oldest === null ? '' : `, the oldest for ${formatDuration(Math.max(0, nowMs - oldest) / 1000)}`;
      return `backlog of ${rail} ${waiting}${since}${dead > 0 ? `; dead ${dead}` : ''}`;
    }),
    `rejected ${rejected}`,
  ];
  context.print(`${lines.join('\n')}\n`);
}

function list(db: ClearDatabase, context: CommandContext, word: string): void {
  const { rail, url } = whereOf(db, context);
  const limit =
    numberOf(context.options, 'limit', 'give a number from 1', { max: 999_999_999 }) ?? SHOWN_ROWS;
  const isJson = context.options['json'] === true;
  let shown = 0;
  for (const row of LISTS[word]?.(db) ?? []) {
    if ((rail !== undefined && row['rail'] !== rail) || (url !== undefined && row['url'] !== url)) continue;
    if (shown++ === limit) {
      context.complain(`more than ${limit} rows; --limit=N shows more`);
      return;
    }
    if (isJson) print(context, row);
    else context.print(`${Object.values(row).map(fieldText).join('\t')}\n`);
  }
}

/** @throws LccError `usage` for a rail that is not there */
function whereOf(
  db: ClearDatabase,
  { options }: CommandContext,
): { rail: string | undefined; url: string | undefined } {
  const rail = textOf(options, 'rail');
  if (rail !== undefined) db.rails.demand(rail);
  return { rail, url: textOf(options, 'url') };
}

function print(context: CommandContext, value: unknown): void {
  context.print(`${JSON.stringify(value)}\n`);
}

/** A value as a field of a line. */
function fieldText(value: string | number | null): string {
  return typeof value === 'string' ? value.replace(/[\t\n\r]/g, ' ') : String(value ?? '');
}
