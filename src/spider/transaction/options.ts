/** Bounds of a spider and its engine. */
import { join } from 'node:path';
import { limitIn, limitText, type Settings } from '../../config/settings/index.js';
import type { Services } from '../../daemon/types.js';
import type { EngineOptions } from '../../fetch/engine.js';
import type { Manners } from '../../fetch/manners.js';
import { PRIVATE_NETWORKS } from '../../fetch/public-addresses.js';

/** The largest document that a record has room for. */
const MAX_DOC_BYTES = 0xffff_ffff;

/** Time to connect, to the headers of an answer, without a byte of it; and the length of the headers. */
const SITE_LIMITS = {
  connectTimeoutMs: 10_000,
  headersTimeoutMs: 30_000,
  idleTimeoutMs: 30_000,
  maxHeaderBytes: 16 * 1024,
};
/** Document kept in memory until a store server has it; a longer one goes into a file. */
const MEMORY_DOC_BYTES = 16 << 20;
/** Documents in memory altogether; others go into files. */
const MEMORY_BYTES = 128 << 20;
/** Lines that a URL server has not read at which a spider connects to it again. */
const MAX_UNSENT_BYTES = 1 << 20;

/** Files that a process has open beside those of its slots. */
const OTHER_FILES = 64;

export function spiderEngineOptions(spider: Settings['spider']): Omit<EngineOptions, 'clock' | 'resolve'> {
  const maxContentBytes = spider.maxDocBytes || MAX_DOC_BYTES;
  const manners: Manners = {
    codings: 'gzip',
    asksFresh: false,
    cutsContent: true,
    takesOldAnswers: true,
    keepsCookies: false,
    permitsDowngrade: spider.downgrade,
  };
  return {
    ...spider,
    ...SITE_LIMITS,
    manners,
    totalTimeoutMs: spider.timeoutReqMs,
    // The rest of an answer is read for the next request on its connection, and there is none.
    drainTimeoutMs: 0,
    minRateBytesPerS: 0,
    minRateText: 'none',
    minRateWindowMs: spider.timeoutReqMs,
    slowAfterMs: spider.timeoutReqMs,
    maxContentBytes,
    contentLimitText: limitText('spider.max_doc_bytes', maxContentBytes),
    headerLimitText: '16 KB',
    redirectLimitText: limitIn({ spider }, 'spider.max_redirects'),
    isInsecure: spider.insecure,
    allowAddresses: [...spider.allowAddresses, ...(spider.allowPrivate ? PRIVATE_NETWORKS : [])],
    maxIdleConnections: 1,
    keepAliveMs: 0,
    // How many go to one host is for the URL server to say.
    maxConnectionsPerHost: spider.slots,
  };
}

/** How many urls may be under way in a process that may have `openFiles` open: a connection each, and some a
 * file. */
export function slotsFor(openFiles: number): number {
  return Math.max(1, Math.floor((openFiles - OTHER_FILES) / 1.5));
}

/** @param openFiles that the process may have open */
export function spiderLimits(
  { home, settings: { spider } }: Pick<Services, 'home' | 'settings'>,
  openFiles: number,
) {
  return {
    ...spider,
    memoryBytes: MEMORY_BYTES,
    memoryDocBytes: MEMORY_DOC_BYTES,
    maxUnsentBytes: MAX_UNSENT_BYTES,
    slots: Math.min(spider.slots, slotsFor(openFiles)),
    spoolDir: join(home.spider, 'spool'),
  };
}

/** Time for a store server to say that it acknowledges, and in which something has to move there. */
export const STORE_LIMITS = { helloTimeoutMs: 2000, stallTimeoutMs: 60_000 };
