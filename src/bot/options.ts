/** Bounds of a robot and its engine. */
import { limitIn, type Settings } from '../config/settings/index.js';
import type { EngineOptions } from '../fetch/engine.js';
import { HEADER_LIMITS } from '../fetch/exchange-owner.js';
import { channelLimitsOf } from '../wire/messages.js';
import type { RobotOptions } from './robot.js';

/** Time to the end of an answer whose outcome is known. */
const DRAIN_TIMEOUT_MS = 1000;
/** Time for which a body may be slower than `bot.min_rate_bytes_per_s`. */
const MIN_RATE_WINDOW_MS = 30_000;
/** Time after which an answer slower than that takes no slot from others. */
const SLOW_AFTER_MS = 5000;

export function engineLimits(bot: Settings['bot']): Omit<EngineOptions, 'clock' | 'resolve'> {
  return {
    ...bot,
    drainTimeoutMs: DRAIN_TIMEOUT_MS,
    minRateWindowMs: MIN_RATE_WINDOW_MS,
    slowAfterMs: SLOW_AFTER_MS,
    maxIdleConnections: 256,
    minRateText: limitIn({ bot }, 'bot.min_rate_bytes_per_s'),
    contentLimitText: limitIn({ bot }, 'bot.max_content_bytes'),
    ...HEADER_LIMITS,
    redirectLimitText: limitIn({ bot }, 'bot.max_redirects'),
  };
}

export function robotLimits(
  settings: Settings,
): Pick<RobotOptions, 'slots' | 'maxWaiting' | 'channel' | 'syncContent'> {
  return { ...settings.bot, slots: settings.bm.slots, channel: channelLimitsOf(settings) };
}
