/** What a spider and its engine are bounded by: plain values, taken from the settings in one place. */
import { join } from 'node:path';
import type { Config } from '../../config/load.js';
import { limitText } from '../../config/settings/index.js';
import type { EngineOptions } from '../../fetch/engine.js';
import type { Manners } from '../../fetch/manners.js';
import type { SpiderOptions } from './spider.js';
import type { StoreServerOptions } from './store-server-link.js';

/** Networks that are nobody's on the internet: what --allow-private permits. */
const PRIVATE_NETWORKS = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
];

/** The largest document that a record has room for. */
const MAX_DOC_BYTES = 0xffff_ffff;

/** Files that a process has open beside those of its slots. */
const OTHER_FILES = 64;

export function spiderEngineOptions(config: Config): Omit<EngineOptions, 'clock' | 'resolve'> {
  const maxContentBytes = config.get('spider.max_doc_bytes') || MAX_DOC_BYTES;
  const maxHeaderBytes = config.get('spider.max_header_bytes');
  const maxRedirects = config.get('spider.max_redirects');
  const manners: Manners = {
    codings: 'gzip',
    asksFresh: false,
    cutsContent: true,
    takesOldAnswers: true,
    keepsCookies: false,
    permitsDowngrade: config.get('spider.downgrade'),
  };
  return {
    manners,
    connectTimeoutMs: config.get('spider.connect_timeout_ms'),
    headersTimeoutMs: config.get('spider.headers_timeout_ms'),
    idleTimeoutMs: config.get('spider.idle_timeout_ms'),
    totalTimeoutMs: config.get('spider.timeout_req_ms'),
    // The rest of an answer is read for the next request on its connection, and there is none.
    drainTimeoutMs: 0,
    minRateBytesPerS: 0,
    minRateText: 'none',
    minRateWindowMs: config.get('spider.timeout_req_ms'),
    slowAfterMs: config.get('spider.timeout_req_ms'),
    maxContentBytes,
    contentLimitText: limitText('spider.max_doc_bytes', maxContentBytes),
    maxHeaderBytes,
    headerLimitText: limitText('spider.max_header_bytes', maxHeaderBytes),
    maxRedirects,
    redirectLimitText: limitText('spider.max_redirects', maxRedirects),
    userAgent: config.get('spider.user_agent'),
    isInsecure: config.get('spider.insecure'),
    allowAddresses: [
      ...config.get('spider.allow_addresses'),
      ...(config.get('spider.allow_private') ? PRIVATE_NETWORKS : []),
    ],
    maxIdleConnections: 1,
    keepAliveMs: 0,
    // How many go to one host is for the URL server to say.
    maxConnectionsPerHost: config.get('spider.slots'),
  };
}

/** How many urls may be under way in a process that may have `openFiles` open: a connection each, and some a file. */
export function slotsFor(openFiles: number): number {
  return Math.max(1, Math.floor((openFiles - OTHER_FILES) / 1.5));
}

/** @param openFiles that the process may have open */
export function spiderLimits(
  config: Config,
  openFiles: number,
): Omit<SpiderOptions, 'engine' | 'stores' | 'clock' | 'log'> {
  return {
    slots: Math.min(config.get('spider.slots'), slotsFor(openFiles)),
    timeoutUpdateMs: config.get('spider.timeout_update_ms'),
    memoryBytes: config.get('spider.memory_bytes'),
    memoryDocBytes: config.get('spider.memory_doc_bytes'),
    spoolDir: config.get('spider.spool_dir') || join(config.home.dir, 'spider', 'spool'),
    maxUnsentBytes: config.get('spider.max_unsent_bytes'),
    maxBadLines: config.get('spider.max_bad_lines'),
    graceMs: config.get('spider.grace_ms'),
  };
}

export function storeLimits(config: Config): Pick<StoreServerOptions, 'helloTimeoutMs' | 'stallTimeoutMs'> {
  return {
    helloTimeoutMs: config.get('spider.store_hello_timeout_ms'),
    stallTimeoutMs: config.get('spider.store_ack_timeout_ms'),
  };
}
