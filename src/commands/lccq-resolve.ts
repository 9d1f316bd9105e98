/** lccq-resolve(1): paths of the store, which an indexer found, as browse URLs. */
import { Resolver } from '../cu/resolve.js';
import { FileOwners } from '../db/cache/owners.js';
import { readingError } from '../db/sqlite/open.js';
import { EXIT, LccError } from '../lib/errors.js';
import { Output, readChunks } from '../lib/stdio.js';
import { configOf } from './options.js';
import type { CommandContext, CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccq-resolve',
  summary: "Paths of the store on standard input (an indexer's hits) as browse URLs.",
  isFilter: true,
  options: [
    { flags: '-0, --null', help: 'paths and URLs end with NUL instead of newline' },
    { flags: '--whole-lines', help: 'print the whole line, the path in it replaced' },
    { flags: '--config <FILE>', help: 'configuration file' },
  ],
  example: 'search++ -i docs.index walrus | lccq-resolve',
  run,
};

function run(context: CommandContext): number {
  const { options } = context;
  if (context.operands.length > 0 || context.afterDashes !== undefined)
    throw new LccError('usage', 'paths come on standard input; there are no operands');
  const config = configOf(context);
  const owners = openOwners(config.home.db, config.get('bm.machine_id'));
  const output = new Output(context.stdout);
  const resolver = new Resolver({
    storeDir: config.home.store,
    endedByNul: options['null'] === true,
    wholeLines: options['wholeLines'] === true,
    burlOf: fileid => owners.burlOf(fileid),
    write: text => output.write(text),
    reject: message => context.complain(message),
  });
  try {
    for (const chunk of readChunks(context.stdin)) {
      resolver.push(chunk);
      // A client that asks one at a time gets an answer.
      output.flush();
    }
    resolver.end();
    output.flush();
  } catch (error) {
    throw readingError(config.home.db, error);
  } finally {
    owners.close();
  }
  return resolver.rejected > 0 ? EXIT.someRejected : EXIT.ok;
}

/** @throws LccError as `FileOwners`, but `io` of damage */
function openOwners(path: string, machineId: string): FileOwners {
  try {
    return new FileOwners(path, machineId);
  } catch (error) {
    throw readingError(path, error);
  }
}
