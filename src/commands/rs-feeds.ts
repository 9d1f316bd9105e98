/** `lccrs feed`: feeds that lccd-rs polls for providers. */
import { formatAmount } from '../config/amounts.js';
import type { Config } from '../config/load.js';
import { amount, formatDuration } from '../config/words.js';
import { ProviderStore } from '../db/providers/provider-store.js';
import type { RsDatabase } from '../db/rs/database.js';
import type { PolledFeed } from '../db/rs/feeds.js';
import { LccError } from '../lib/errors.js';
import { FeedBook, shownFeed, USUAL_EVERY_MS } from '../rs/feeds/book.js';
import { missesNews } from '../rs/feeds/standing.js';
import { rsOptions } from '../rs/options.js';
import { RsRequestRefused } from '../rs/refusal.js';
import { actionOf } from './actions.js';
import { readLcc } from './lcc-db.js';
import { providerElsewhere } from './other-homes.js';
import { durationMsOf, numberOf } from './options.js';
import type { CommandContext } from './run.js';

/** The surroundings of an action of lccrs, and its operand. */
export interface Given {
  db: RsDatabase;
  context: CommandContext;
  config: Config;
  operand: string;
}

/** Action of each word, and whether it changes something. */
const ACTIONS: Record<string, { write?: true; action: (given: Given) => void | Promise<void> }> = {
  'feed add': { write: true, action: add },
  'feed rm': {
    write: true,
    action: given => changing(given, (book, pid) => book.remove(pid, given.operand, 'operator')),
  },
  'feed list': { action: list },
};

/** @throws LccError `usage` */
export function feedActionOf({ operands, options }: CommandContext) {
  const [, verb = '', url = '', ...more] = operands;
  const { write, action } = actionOf(ACTIONS, `feed ${verb}`.trimEnd());
  const isWrong = (write === true) !== (url !== '') || more.length > 0;
  if (isWrong || (write === true && options['pid'] === undefined))
    throw new LccError('usage', `write lccrs feed ${verb}${write === true ? ' --pid=N URL' : ''}`);
  return { write, action, operand: url };
}

async function add(given: Given): Promise<void> {
  const { context, config, operand: url } = given;
  const everyMs = durationMsOf('--every', context.options['every']) ?? USUAL_EVERY_MS;
  const roots = await rootsOf(context, config, pidOf(context) ?? 0);
  changing(given, (book, pid) => {
    if (roots.length === 0)
      throw new LccError('usage', `there is no provider ${pid} with a root; see lccpidb list`);
    book.add(pid, url, everyMs, roots, 'operator');
  });
}

/** Roots of a provider, here or as its home says. */
async function rootsOf(context: CommandContext, config: Config, pid: number): Promise<readonly string[]> {
  const here = readLcc(config.home.db, db => new ProviderStore(db).roots(pid));
  if (here.length > 0) return here;
  return (await providerElsewhere(context, config, pid))?.roots ?? [];
}

function changing({ db, context, config }: Given, change: (book: FeedBook, pid: number) => void): void {
  const book = new FeedBook({ db, nowMs: () => context.clock.nowMs(), options: rsOptions(config) });
  try {
    change(book, pidOf(context) ?? 0);
  } catch (error) {
    if (error instanceof RsRequestRefused) throw new LccError('usage', error.message);
    throw error;
  }
}

function list({ db, context }: Given): void {
  const { options, clock } = context;
  const pid = pidOf(context);
  const feeds = pid === undefined ? db.feeds.all() : db.feeds.of(pid);
  for (const feed of feeds)
    context.print(
      options['json'] === true
        ? `${JSON.stringify({ pid: feed.pid, ...shownFeed(feed) })}\n`
        : feedLine(feed, clock.nowMs()),
    );
  if (feeds.length === 0) context.say('no feed is listed');
}

function pidOf({ options }: CommandContext): number | undefined {
  return numberOf(options, 'pid', 'give the number of a provider');
}

/** `7  http://www.example.org/feed/  every 30 min  read 5 min ago  40 items  hub active`, then troubles. */
function feedLine({ pid, url, everyMs, standing }: PolledFeed, nowMs: number): string {
  const { readMs, items, left, state, trouble, hubTrouble } = standing;
  const read = readMs === undefined ? 'never read' : `read ${formatDuration((nowMs - readMs) / 1000)} ago`;
  const parts = [
    `${pid}  ${url}`,
    `every ${formatAmount(everyMs, 'ms')}`,
    read,
    amount(items, 'item') + (left === 0 ? '' : `, ${left} left out`),
    ...(state === 'none' ? [] : [`hub ${state}${missesNews(standing) ? ', misses news' : ''}`]),
    ...[trouble, hubTrouble].filter(text => text !== undefined),
  ];
  return `${parts.join('  ')}\n`;
}
