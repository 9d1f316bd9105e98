/**
 * The library that `lccq` uses: what a Local Content Cache holds, what changed, what is gone, for programs.
 *
 *     import { openLcc, pageTextOf } from 'lcc';
 *     const lcc = openLcc();
 *     for await (const change of lcc.changes({ mime: 'text/*' })) console.log(change.op, change.burl);
 *     lcc.close();
 */
import { loadConfig } from './config/load.js';
import { Lcc } from './cu/library/lcc.js';
import { peersOf } from './cu/peers/contents.js';
import { systemClock } from './lib/clock.js';
import { checkOptions, TEXT } from './cu/library/options.js';
import { whenShipped } from './daemon/when-shipped.js';

export { Lcc };
export type { LccLocation } from './cu/library/lcc.js';
export {
  bytesOf,
  chunksOf,
  contentOf,
  fetchContent,
  pageMarkdownOf,
  pageTextOf,
} from './cu/library/content.js';
export { formatCursor, openCursor, parseCursor, type CursorFile } from './cu/library/cursors.js';
export type { Change, ChangesOptions, Cursor, PageChunk, PageMarkdown, Text } from './cu/library/types.js';
export { LccError, type ErrorCode } from './lib/errors.js';

/** Which LCC; what is left out is found as every command finds it: lcc.toml(5), `$LCC_HOME`. */
export interface OpenOptions {
  /** The home of the LCC, instead of `$LCC_HOME`; then the environment is not looked at. */
  home?: string | undefined;
  /** File of settings, instead of `$LCC_CONFIG` and `lcc.toml` in the home. */
  config?: string | undefined;
}

/**
 * Opens an LCC for reading; its daemons need not run. Close it when it is no longer needed.
 * @throws LccError `usage` for an option that there is not; `input.missing`, `config`, `data.malformed` when
 * there is none, or none that can be read
 */
export function openLcc(options: OpenOptions = {}): Lcc {
  checkOptions(options, { home: TEXT, config: TEXT });
  const { home, config: file } = options;
  const env = home === undefined ? process.env : { LCC_HOME: home };
  const config = loadConfig({ env, file });
  const { db, store } = config.home;
  const maxTextBytes = config.get('cu.max_text_bytes');
  const machines = peersOf(config.settings, systemClock);
  const shipped = whenShipped(config, systemClock);
  return new Lcc({ db, store, machineId: config.get('bm.machine_id'), maxTextBytes, machines, shipped });
}
