/**
 * The library that `lccq` uses: what a Local Content Cache holds, what changed, what is gone, for programs.
 *
 *     import { openLcc, pageTextOf } from 'lcc';
 *     const lcc = openLcc();
 *     for await (const change of lcc.changes({ mime: 'text/*' })) console.log(change.op, change.burl);
 *     lcc.close();
 */
import { loadConfig } from './config/load.js';
import { askedShards } from './cu/asked-shards.js';
import { LccHomes } from './cu/library/homes.js';
import { Lcc } from './cu/library/lcc.js';
import { peersOf } from './cu/peers/contents.js';
import { systemClock } from './lib/clock.js';
import { checkOptions, TEXT } from './cu/library/options.js';
import { trustOf } from './daemon/machines.js';
import { LccError } from './lib/errors.js';
import { whenShipped } from './daemon/when-shipped.js';

export { Lcc, LccHomes };
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
export type {
  Change,
  ChangesOptions,
  Cursor,
  HomeChange,
  HomesChangesOptions,
  PageChunk,
  PageMarkdown,
  Text,
} from './cu/library/types.js';
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
  const config = configOf(options);
  const { db, store } = config.home;
  const maxTextBytes = config.get('cu.max_text_bytes');
  const machines = peersOf(config.settings, systemClock);
  const shipped = whenShipped(config, systemClock);
  return new Lcc({ db, store, machineId: config.get('bm.machine_id'), maxTextBytes, machines, shipped });
}

/**
 * Opens all homes of an LCC that is several (lcc-cluster(7)), as its engine has them; each is asked over the
 * network, whichever machine owns it. Close it when it is no longer needed.
 * @throws LccError `usage` for an option that there is not; `config` where there is no engine (`store.url`)
 */
export async function openHomes(options: OpenOptions = {}): Promise<LccHomes> {
  const { settings } = configOf(options);
  const { net, cu } = settings;
  if (settings.store.url === '')
    throw new LccError('config', 'store.url is not set: an LCC without an engine is one home; openLcc');
  const clock = systemClock;
  const trust = () => trustOf(net);
  const asked = await askedShards(settings, {
    asked: endpoint => ({ endpoints: [endpoint], trust, skipsAway: true, clock, note: () => undefined }),
    clock,
  });
  return new LccHomes({ asked, maxTextBytes: cu.maxTextBytes, clock });
}

/** @throws LccError `usage`, `config` */
function configOf(options: OpenOptions) {
  checkOptions(options, { home: TEXT, config: TEXT });
  const { home, config: file } = options;
  const env = home === undefined ? process.env : { LCC_HOME: home };
  return loadConfig({ env, file });
}
