/** What a URL server is bounded by: plain values, taken from the settings in one place. */
import type { Config } from '../../config/load.js';
import { limitText } from '../../config/settings/index.js';
import { productToken } from '../../wire/robots-txt.js';
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

export function urlServerOptions(config: Config): UrlServerOptions {
  const textOf = (key: 'spider.stall_timeout_ms' | 'spider.max_bad_lines') => limitText(key, config.get(key));
  return {
    schedule: {
      perHost: config.get('spider.per_host'),
      hostDelayMs: config.get('spider.host_delay_ms'),
      random: config.get('spider.shuffle') ? Math.random : undefined,
      silenceMs: SILENT_PERIODS * config.get('spider.timeout_update_ms'),
      maxTries: config.get('spider.max_tries'),
      maxLosses: config.get('spider.max_losses'),
    },
    session: {
      maxWaitingBytes: config.get('spider.max_waiting_bytes'),
      stallTimeoutMs: config.get('spider.stall_timeout_ms'),
      stallText: textOf('spider.stall_timeout_ms'),
      maxBadLines: config.get('spider.max_bad_lines'),
      badLinesText: textOf('spider.max_bad_lines'),
    },
    windowUrls: config.get('spider.window_urls'),
    windowBytes: config.get('spider.window_bytes'),
    graceMs: config.get('spider.grace_ms'),
  };
}

export function robotsOptions(config: Config): Omit<RobotsOptions, 'ask' | 'clock' | 'log' | 'heard'> {
  return {
    token: productToken(config.get('spider.user_agent')),
    maxAgeMs: config.get('spider.robots_max_age_ms'),
    tries: config.get('spider.robots_tries'),
    retryMs: config.get('spider.robots_retry_ms'),
    maxOrigins: config.get('spider.robots_max_origins'),
    maxBytes: config.get('spider.robots_max_bytes'),
  };
}
