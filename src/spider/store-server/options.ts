/** Settings of a store server as the values that its parts take. */
import { join } from 'node:path';
import { limitIn } from '../../config/settings/index.js';
import type { Services } from '../../daemon/types.js';

/** The longest that a record waits for others that are synced with it. */
const WAIT_MS = 20;
/** Acknowledgements waiting for a spider to read them at which no more are sent to it. */
const MAX_ACK_BYTES = 1 << 20;
/** Silence inside of a record after which a connection is cut. */
const STALL_TIMEOUT_MS = 60_000;

export function storeOptions({ home, settings: { spider } }: Pick<Services, 'home' | 'settings'>) {
  const dir = spider.storeDir || join(home.spider, 'store');
  return {
    dir,
    dbPath: join(dir, 'store.db'),
    lockPath: join(dir, 'lock'),
    isCompressed: spider.storeCompress === 'gzip',
    waitMs: WAIT_MS,
    maxPendingBytes: spider.storeMaxPendingBytes,
    session: {
      maxDocBytes: spider.storeMaxDocBytes,
      maxDocText: limitIn({ spider }, 'spider.store_max_doc_bytes'),
      maxAckBytes: MAX_ACK_BYTES,
      stallTimeoutMs: STALL_TIMEOUT_MS,
      stallText: '1 min',
    },
  };
}

export type StoredOptions = ReturnType<typeof storeOptions>;
