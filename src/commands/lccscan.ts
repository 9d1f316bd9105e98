/** lccscan(1): asks again for pages that are held, where nobody announces their changes, or to see whether
 * somebody does. */
import type { Config } from '../config/load.js';
import { amount } from '../config/words.js';
import { ScanReader } from '../db/cache/scan.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { audit } from '../crawl/audit.js';
import { scan } from '../crawl/scan.js';
import { requestLine, sinkOf } from '../crawl/sinks.js';
import type { ScanCounts, ScanOptions } from '../crawl/types.js';
import { DoorSets } from '../wire/door-sets.js';
import { DELIVER_OPTION, doorLines, doorOptionsOf } from './deliver-option.js';
import { CONFIG_OPTION, configOf, numberOf, readNumber, textsOf } from './options.js';
import type { CommandContext, CommandSpec, OptionValues } from './run.js';

export const command: CommandSpec = {
  name: 'lccscan',
  summary:
    'Ask again for held pages: those that gain most by it, or an even sample of what owners announced.',
  writesUrls: context => context?.options['deliver'] === undefined,
  options: [
    { flags: '--audit', help: 'a sample of what owners announced, of those whose turn has come' },
    { flags: '--pid <N>', help: 'of this provider alone', repeat: true },
    { flags: '--limit <N>', help: 'urls of each provider at most (default: its share of a day)' },
    DELIVER_OPTION,
    CONFIG_OPTION,
  ],
  example: 'lccscan --deliver',
  run,
};

async function run(context: CommandContext): Promise<ExitStatus> {
  const config = configOf(context);
  const options = scanOptions(context.options, config);
  const isAudit = context.options['audit'] === true;
  const db = new ScanReader(config.home.db);
  try {
    for (const pid of options.pids)
      if (!db.hasProvider(pid)) throw new LccError('usage', `no provider ${pid}; see lccpidb list`);
    const nowS = Math.floor(context.clock.nowMs() / 1000);
    for (const pid of options.pids) {
      if (isAudit && !db.isAuditDue({ pid, nowS })) context.say(`provider ${pid}: no audit of it is due`);
      if (!isAudit && !db.isScanned(pid))
        context.say(
          `provider ${pid} is not scanned: it has neither scan=yes nor spider=yes, or is disabled (lccpidb show --pid=${pid})`,
        );
    }
    const deliver = doorOptionsOf(context, config);
    const door = deliver && new DoorSets(deliver, isAudit ? 'audit' : 'scan');
    const sink = sinkOf(door, { stdout: context.stdout, from: 'lccscan' }, requestLine);
    const counts = await (isAudit ? audit : scan)(db, sink, options, nowS);
    for (const line of [countLine(counts), ...doorLines(door?.counts, 'url')])
      if (context.verbose) context.say(line);
    return EXIT.ok;
  } finally {
    db.close();
  }
}

function scanOptions(values: OptionValues, config: Config): ScanOptions {
  return {
    pids: new Set(
      (textsOf(values, 'pid') ?? []).map(text =>
        readNumber('--pid', text, "give the provider's number, 1 or more"),
      ),
    ),
    limit: numberOf(values, 'limit', 'give a number from 0', { min: 0 }),
    perDay: config.get('links.scan_per_day'),
    percentPerDay: config.get('links.scan_percent_per_day'),
  };
}

function countLine({ providers, rows, chosen, overdue, known, recent }: ScanCounts): string {
  const passedOver = recent === 0 ? '' : `; ${recent} passed over, asked for within an hour`;
  return `${amount(providers, 'provider')}, ${amount(rows, 'page')} looked at: ${chosen} chosen, ${overdue} not asked for in 90 days, ${known} that were not to be had${passedOver}`;
}
