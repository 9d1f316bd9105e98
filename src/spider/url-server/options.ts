/** Bounds of a URL server. */
import { limitIn, type Settings } from '../../config/settings/index.js';
import { productToken } from '../../robots/robots-txt.js';
import type { RobotsOptions } from './robots-gate.js';
import type { SchedulerOptions } from './scheduler.js';

/** Silence about a transaction, in periods of Timeout_Update, after which it is given up. */
const SILENT_PERIODS = 3;

export interface SessionLimits {
  maxWaitingBytes: number;
  stallTimeoutMs: number;
  stallText: string;
  maxBadLines: number;
  badLinesText: string;
}

export interface UrlServerOptions {
  schedule: SchedulerOptions;
  session: SessionLimits;
  windowUrls: number;
  windowBytes: number;
  graceMs: number;
}

export function urlServerOptions(spider: Settings['spider']): UrlServerOptions {
  return {
    ...spider,
    schedule: {
      ...spider,
      random: spider.shuffle ? Math.random : undefined,
      silenceMs: SILENT_PERIODS * spider.timeoutUpdateMs,
    },
    session: {
      ...spider,
      stallText: limitIn({ spider }, 'spider.stall_timeout_ms'),
      badLinesText: limitIn({ spider }, 'spider.max_bad_lines'),
    },
  };
}

export function robotsOptions(
  spider: Settings['spider'],
): Omit<RobotsOptions, 'ask' | 'clock' | 'log' | 'heard'> {
  return {
    token: productToken(spider.userAgent),
    maxAgeMs: spider.robotsMaxAgeMs,
    tries: spider.robotsTries,
    retryMs: spider.robotsRetryMs,
    maxOrigins: spider.robotsMaxOrigins,
    maxBytes: spider.robotsMaxBytes,
  };
}
