/** Settings of a store server as the values that its parts take. */
import { join } from 'node:path';
import { limitIn } from '../../config/settings/index.js';
import type { Services } from '../../daemon/types.js';

/** The longest that a record waits for others that are synced with it. */
const WAIT_MS = 20;

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
      maxAckBytes: spider.storeMaxAckBytes,
      stallTimeoutMs: spider.storeStallTimeoutMs,
      stallText: limitIn({ spider }, 'spider.store_stall_timeout_ms'),
    },
  };
}

export type StoredOptions = ReturnType<typeof storeOptions>;
