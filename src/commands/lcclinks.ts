/** lcclinks(1): the links of pages that are held, as urls to be fetched. */
import { xmlLimitsOf } from '../config/limits.js';
import type { Config } from '../config/load.js';
import { amount } from '../config/words.js';
import { CrawlReader } from '../db/cache/crawl.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { compileGlob } from '../lib/glob.js';
import { Expander, type LinksCounts } from '../crawl/expander.js';
import { LINK_LIMITS, type ExpandOptions, type FoundLink, type NofollowRule } from '../crawl/options.js';
import { LinkOwners } from '../crawl/owners.js';
import { expandPages, expandStreams, seedUrls } from '../crawl/run.js';
import { complaintOf, SeedCounts } from '../crawl/seeds.js';
import { linkLine, sinkOf, type UrlSink } from '../crawl/sinks.js';
import { productToken } from '../robots/robots-txt.js';
import { DoorSets, type DoorSetsOptions } from '../wire/door-sets.js';
import { DELIVER_OPTION, doorLines, doorOptionsOf } from './deliver-option.js';
import { CONFIG_OPTION, configOf, textOf, textsOf } from './options.js';
import type { CommandContext, CommandSpec, OptionValues } from './run.js';

/** Pages of which not everything was read that are named; the others are counted. */
const MOST_NAMED = 10;
/** Answer to a stream whose links are delivered (`lccq --stay`). */
const ANSWER = 'ok\n';

export const command: CommandSpec = {
  name: 'lcclinks',
  summary: 'Read the pages that lccq names; write, or deliver, the links in them that are not held yet.',
  isFilter: true,
  writesUrls: context => context?.options['deliver'] === undefined,
  options: [
    DELIVER_OPTION,
    { flags: '--seeds', help: 'read urls or hosts, one a line, with which a crawl begins' },
    { flags: '--assets', help: 'also what a browser loads to show a page: pictures, styles, scripts, media' },
    {
      flags: '--nofollow <WHICH>',
      help: 'which nofollow counts: all, page (not that of links), none',
      choices: ['all', 'page', 'none'],
      default: 'all',
    },
    {
      flags: '--exclude <GLOB>',
      help: 'leave out urls that match: * within a segment, ** anything',
      repeat: true,
    },
    {
      flags: '--stay',
      help: 'with --deliver, below lccq --stay: read one stream after the other, answer each with ok',
    },
    { flags: '--max-hops <N>', help: 'links between a page and where the crawl began', default: '64' },
    CONFIG_OPTION,
  ],
  example: `echo https://www.example.org/ | lcclinks --seeds --deliver
lccq --follow --stay --cursor=links.cursor --batch=10000 -- lcclinks --deliver --stay`,
  run,
};

async function run(context: CommandContext): Promise<ExitStatus> {
  const config = configOf(context);
  const options = linksOptions(context.options, config);
  const isSeeds = context.options['seeds'] === true;
  const stays = context.options['stay'] === true;
  const deliver = doorOptionsOf(context, config);
  if (stays && (deliver === undefined || isSeeds))
    throw new LccError(
      'usage',
      '--stay is for lccq --stay, and answers on standard output; give --deliver, and no --seeds',
    );
  const db = new CrawlReader(config.home.db);
  const begin = () => new Expansion(context, db, options, deliver);
  const input: AsyncIterable<Buffer> = context.input();
  const limits = xmlLimitsOf(config.settings.xml);
  try {
    if (stays) {
      await expandStreams(input, limits, begin, stream => {
        stream.tell();
        context.print(ANSWER);
      });
      return EXIT.ok;
    }
    const stream = begin();
    if (isSeeds) return await sendSeeds(input, stream);
    await expandPages(input, stream, limits);
    stream.tell();
    return EXIT.ok;
  } finally {
    context.input().destroy();
    db.close();
  }
}

async function sendSeeds(input: AsyncIterable<Buffer>, stream: Expansion): Promise<ExitStatus> {
  const seeds = new SeedCounts();
  const { expander, sink, complaints, context } = stream;
  await seedUrls(input, expander, sink, (url, outcome) => {
    seeds.add(outcome);
    const complaint = complaintOf(url, outcome, context.clock.nowMs());
    if (complaint !== undefined) complaints.add(complaint);
  });
  stream.tell(seeds.line());
  return seeds.rejected > 0 ? EXIT.someRejected : EXIT.ok;
}

/** Pages that are read, and the place of their links. */
class Expansion {
  readonly complaints: Complaints;
  readonly expander: Expander;
  readonly sink: UrlSink<FoundLink>;
  readonly context: CommandContext;
  readonly #door: DoorSets | undefined;

  constructor(
    context: CommandContext,
    db: CrawlReader,
    options: ExpandOptions,
    deliver: DoorSetsOptions | undefined,
  ) {
    this.context = context;
    this.complaints = new Complaints(context);
    this.#door = deliver && new DoorSets(deliver, 'links');
    this.sink = sinkOf(this.#door, { stdout: context.stdout, from: 'lcclinks' }, linkLine);
    this.expander = new Expander({
      options,
      db,
      owners: new LinkOwners(db.spiderProviders()),
      sink: this.sink,
      clock: context.clock,
      complain: message => this.complaints.add(message),
      explain: context.verbose ? message => context.say(message) : undefined,
    });
  }

  /** Says what became of it. @param line about it besides */
  tell(line?: string): void {
    const { counts } = this.expander;
    this.complaints.tellRest();
    if (line !== undefined) this.context.say(line);
    for (const each of [...countLines(counts), ...doorLines(this.#door?.counts, 'link')])
      if (this.context.verbose) this.context.say(each);
    const trapped = trapsLine(counts);
    if (trapped !== undefined) this.context.say(trapped);
  }
}

class Complaints {
  readonly #context: CommandContext;
  #count = 0;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  add(message: string): void {
    if (++this.#count <= MOST_NAMED || this.#context.verbose) this.#context.complain(message);
  }

  tellRest(): void {
    if (this.#count > MOST_NAMED && !this.#context.verbose)
      this.#context.complain(`${this.#count - MOST_NAMED} more like these; -v names them`);
  }
}

function countLines({ pages, links, sent, unread, unwanted }: LinksCounts): string[] {
  const lines = [`${amount(pages, 'page')}, ${amount(links, 'link')} in them, ${sent} sent`];
  if (unread > 0) lines.push(`${amount(unread, 'page')} passed over: missing, altered, too large or no text`);
  if (unwanted > 0) lines.push(`${amount(unwanted, 'page')} with noindex`);
  return lines;
}

/** Said to everybody: an index may lack what a site really has. */
function trapsLine({ traps }: LinksCounts): string | undefined {
  if (traps.size === 0) return undefined;
  return `left out as traps (lcclinks(1)): ${[...traps].map(([name, count]) => `${name} ${count}`).join(', ')}`;
}

function linksOptions(values: OptionValues, config: Config): ExpandOptions {
  return {
    assets: values['assets'] === true,
    nofollow: nofollowOf(textOf(values, 'nofollow') ?? 'all'),
    excluded: (textsOf(values, 'exclude') ?? []).map(compileGlob),
    maxHops: hopsOf(textOf(values, 'maxHops') ?? ''),
    robotName: productToken(config.get('bot.user_agent')).toLowerCase(),
    maxPageBytes: config.get('links.max_page_bytes'),
    maxPageLinks: config.get('links.max_page_links'),
    maxQueries: config.get('links.max_path_queries'),
    ...LINK_LIMITS,
  };
}

function nofollowOf(text: string): NofollowRule {
  if (text === 'all' || text === 'page' || text === 'none') return text;
  throw new LccError('usage', `--nofollow=${text}: give all, page or none`);
}

function hopsOf(text: string): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw new LccError('usage', `--max-hops=${text}: give a number of links, 0 to 9999`);
}
