/** Settings of a store server as the values that its parts take. */
import { join } from 'node:path';
import type { Config } from '../../config/load.js';
import { limitText } from '../../config/settings/index.js';

export function storeOptions(config: Config) {
  const dir = config.get('spider.store_dir') || join(config.home.spider, 'store');
  const maxDocBytes = config.get('spider.store_max_doc_bytes');
  const stallTimeoutMs = config.get('spider.store_stall_timeout_ms');
  return {
    dir,
    dbPath: join(dir, 'store.db'),
    lockPath: join(dir, 'lock'),
    isCompressed: config.get('spider.store_compress') === 'gzip',
    waitMs: config.get('spider.store_ack_ms'),
    maxPendingBytes: config.get('spider.store_max_pending_bytes'),
    session: {
      maxDocBytes,
      maxDocText: limitText('spider.store_max_doc_bytes', maxDocBytes),
      maxAckBytes: config.get('spider.store_max_ack_bytes'),
      stallTimeoutMs,
      stallText: limitText('spider.store_stall_timeout_ms', stallTimeoutMs),
    },
  };
}

export type StoredOptions = ReturnType<typeof storeOptions>;
