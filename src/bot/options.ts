/** What a robot and its engine are bounded by: plain values, taken from the settings in one place. */
import type { Config } from '../config/load.js';
import { limitText } from '../config/settings/index.js';
import { channelLimitsOf } from '../wire/messages.js';
import type { EngineOptions } from '../fetch/engine.js';
import type { RobotOptions } from './robot.js';

export function engineLimits(config: Config): Omit<EngineOptions, 'clock' | 'resolve'> {
  const maxContentBytes = config.get('bot.max_content_bytes');
  const minRateBytesPerS = config.get('bot.min_rate_bytes_per_s');
  const maxRedirects = config.get('bot.max_redirects');
  const maxHeaderBytes = config.get('bot.max_header_bytes');
  return {
    connectTimeoutMs: config.get('bot.connect_timeout_ms'),
    headersTimeoutMs: config.get('bot.headers_timeout_ms'),
    idleTimeoutMs: config.get('bot.idle_timeout_ms'),
    drainTimeoutMs: config.get('bot.drain_timeout_ms'),
    minRateBytesPerS,
    minRateText: limitText('bot.min_rate_bytes_per_s', minRateBytesPerS),
    minRateWindowMs: config.get('bot.min_rate_window_ms'),
    slowAfterMs: config.get('bot.slow_after_ms'),
    totalTimeoutMs: config.get('bot.total_timeout_ms'),
    maxContentBytes,
    contentLimitText: limitText('bot.max_content_bytes', maxContentBytes),
    maxHeaderBytes,
    headerLimitText: limitText('bot.max_header_bytes', maxHeaderBytes),
    maxRedirects,
    redirectLimitText: `${maxRedirects} (bot.max_redirects)`,
    userAgent: config.get('bot.user_agent'),
    allowAddresses: config.get('bot.allow_addresses'),
    maxIdleConnections: config.get('bot.max_idle_connections'),
    maxConnectionsPerHost: config.get('bot.max_connections_per_host'),
    keepAliveMs: config.get('bot.keep_alive_ms'),
  };
}

export function robotLimits(
  config: Config,
): Pick<RobotOptions, 'slots' | 'maxWaiting' | 'channel' | 'syncContent'> {
  return {
    slots: config.get('bm.slots'),
    syncContent: config.get('bot.sync_content'),
    maxWaiting: config.get('bot.max_waiting'),
    channel: channelLimitsOf(config),
  };
}
