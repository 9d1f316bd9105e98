/** Bounds of a URL server. */
import { DAY, KB, MB } from '../../config/amounts.js';
import { limitIn, type Settings } from '../../config/settings/index.js';
import { productToken } from '../../robots/robots-txt.js';
import type { RobotsOptions } from './robots-gate.js';
import type { SchedulerOptions } from './scheduler.js';

/** Lines that a spider has not taken at which it is sent no more. */
const MAX_WAITING_BYTES = 256 * KB;
/** Urls in memory, waiting or under way. */
const WINDOW_URLS = 10_000;
/** Silence about a transaction, in periods of Timeout_Update, after which it is given up. */
const SILENT_PERIODS = 3;
/** Connections that are lost with a url before it has failed. */
const MAX_LOSSES = 20;
/** Times and tries of a robots.txt; sites whose rules are in memory, and these altogether. */
const ROBOTS_LIMITS = {
  maxAgeMs: DAY,
  tries: 3,
  retryMs: 30_000,
  maxOrigins: 10_000,
  maxBytes: 32 * MB,
};

export function urlServerOptions(spider: Settings['spider']) {
  const schedule: SchedulerOptions = {
    ...spider,
    maxLosses: MAX_LOSSES,
    random: spider.shuffle ? Math.random : undefined,
    silenceMs: SILENT_PERIODS * spider.timeoutUpdateMs,
  };
  return {
    schedule,
    session: {
      ...spider,
      maxWaitingBytes: MAX_WAITING_BYTES,
      stallText: limitIn({ spider }, 'spider.stall_timeout_ms'),
      badLinesText: limitIn({ spider }, 'spider.max_bad_lines'),
    },
    windowUrls: WINDOW_URLS,
    windowBytes: 16 * MB,
    graceMs: spider.graceMs,
  };
}

export type UrlServerOptions = ReturnType<typeof urlServerOptions>;

export function robotsOptions(
  spider: Settings['spider'],
): Omit<RobotsOptions, 'ask' | 'clock' | 'log' | 'heard'> {
  return {
    token: productToken(spider.userAgent),
    ...ROBOTS_LIMITS,
  };
}
