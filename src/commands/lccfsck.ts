/** lccfsck(8): whether rows, files, queue, counters and names agree; and making them. */
import { join, resolve } from 'node:path';
import type { Config } from '../config/load.js';
import { amount } from '../config/words.js';
import { readStoreMark } from '../db/names/store-mark.js';
import { keptWork } from '../daemon/open-kept.js';
import { runFsck, type FsckResult } from '../fsck/run.js';
import type { Finding } from '../fsck/types.js';
import { errnoOf, EXIT, LccError } from '../lib/errors.js';
import { Output } from '../lib/stdio.js';
import { fsckPlaces } from './fsck-places.js';
import { CONFIG_OPTION, configOf, flagOf, textOf } from './options.js';
import { withKeeper } from './own-keeper.js';
import type { CommandContext, CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccfsck',
  summary: 'Check a Local Content Cache: rows against files, the queue, counters, names; and repair it.',
  options: [
    { flags: '--repair', help: 'put right what is found; lccd must not run' },
    {
      flags: '--store-lost',
      help: 'with --repair: take the store as it is; what is not there is fetched again',
    },
    {
      flags: '--start-empty',
      help: 'with --repair: begin with an empty database when no provider can be read from it',
    },
    {
      flags: '--restored',
      help: 'with --repair: lcc.db was put back from a backup; providers and content users begin again',
    },
    {
      flags: '--remove-orphans',
      help: 'with --repair: remove files without rows even if most of the store are',
    },
    {
      flags: '--recheck',
      help: 'with --repair: have every machine read all its content again when it connects',
    },
    { flags: '--quick', help: 'do not read the content of files' },
    { flags: '--store <DIR>', help: 'folder of the content (default: $LCC_HOME/store)' },
    {
      flags: '--machineid <ID>',
      sets: 'bm.machine_id',
      help: 'whose content it is (default: bm.machine_id)',
    },
    CONFIG_OPTION,
  ],
  example: 'lccfsck || lccfsck --repair',
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options } = context;
  const asked = {
    storeLost: false,
    startEmpty: false,
    restored: false,
    removeOrphans: false,
    recheck: false,
  };
  for (const name of Object.keys(asked) as (keyof typeof asked)[]) {
    asked[name] = options[name] === true;
    if (asked[name] && options['repair'] !== true)
      throw new LccError('usage', `${flagOf(name)} goes with --repair`);
  }
  const config = configOf(context);
  const store = textOf(options, 'store');
  const isRepair = options['repair'] === true;
  const print = printerOf(new Output(context.stdout), isRepair);
  // All that a backup does not know is found: as many lines as there are pages that came since.
  const isSummed = asked.restored && !context.verbose;
  const kinds = new Kinds();
  const fsck = () =>
    runFsck(
      {
        ...fsckPlaces(config),
        storeDir: storeDirOf(store, config, asked.storeLost),
        repair: isRepair,
        ...asked,
        quick: options['quick'] === true,
        nowMs: () => context.clock.nowMs(),
      },
      {
        found: finding => (isSummed ? kinds.add(finding) : print(lineOf(finding))),
        note: message => context.say(message),
        advance: context.progress('rows'),
      },
    );
  const repair = () => keptWork(config, context.clock, 'lcc', fsck);
  const result = await (isRepair ? withKeeper(context, config, repair) : fsck());
  for (const finding of kinds.summed()) print(lineOf(finding));
  print('');
  context.say(summaryOf(result, isRepair));
  return result.found === result.repaired ? EXIT.ok : EXIT.someRejected;
}

/** The store to look at; none for a machine that never comes back where the one here is another's. */
function storeDirOf(given: string | undefined, config: Config, isLost: boolean): string {
  if (given !== undefined) return resolve(given);
  const { home } = config;
  const isNamed = isLost && config.originOf('bm.machine_id') === 'command line';
  const here = isNamed ? readStoreMark(home.store)?.machineId : undefined;
  return here === undefined || here === config.get('bm.machine_id')
    ? home.store
    : join(home.run, 'store-lost');
}

/** Findings of each kind, those repaired apart from those that are left: how many, and the first. */
class Kinds {
  readonly #kinds = new Map<string, { count: number; first: Finding }>();

  add(finding: Finding): void {
    const key = `${finding.kind} ${finding.repaired}`;
    const known = this.#kinds.get(key);
    if (known === undefined) this.#kinds.set(key, { count: 1, first: finding });
    else known.count += 1;
  }

  /** One for each kind. */
  summed(): Finding[] {
    return [...this.#kinds.values()].map(({ count, first }) =>
      count === 1 ? first : { ...first, where: `${first.where} and ${count - 1} more (-v names each)` },
    );
  }
}

/**
 * Prints lines; '' when there are no more. A repair is not left half done because nobody reads on: `| head`.
 */
function printerOf(output: Output, isRepair: boolean): (line: string) => void {
  let isRead = true;
  return line => {
    if (!isRead) return;
    try {
      if (line === '') output.flush();
      else output.write(line);
    } catch (error) {
      if (!isRepair || errnoOf(error) !== 'EPIPE') throw error;
      isRead = false;
    }
  };
}

/** `KIND<TAB>WHERE<TAB>WHAT[<TAB>repaired]`. */
function lineOf({ kind, where, what, repaired }: Finding): string {
  return `${[kind, where, what, ...(repaired ? ['repaired'] : [])].map(printable).join('\t')}\n`;
}

/** Text that others wrote may hold any character: one line is one finding, and no terminal is told what to
 * do. */
function printable(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f]/g,
    c => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

function summaryOf(
  { found, repaired, repairable, extent, storeIsStrange }: FsckResult,
  isRepair: boolean,
): string {
  const canRepair = !isRepair && !storeIsStrange && repairable > 0;
  const next = canRepair ? '; stop lccd and run lccfsck --repair' : '';
  const elsewhere =
    extent.elsewhere === 0 ? '' : `, ${extent.elsewhere} of them with content on other machines`;
  const strange = storeIsStrange ? ', their store is not here' : '';
  const leaving = extent.leaving === 0 ? '' : `, ${amount(extent.leaving, 'deletion')} waiting`;
  const looked = `${extent.rows} rows${elsewhere}${strange}, ${extent.files} files${leaving}, ${extent.bytes} bytes read`;
  return `${looked}: ${found === 0 ? 'nothing found' : `${found} found, ${repaired} repaired${next}`}`;
}
