/** Bounds of a robot and its engine. */
import { limitIn, type Settings } from '../config/settings/index.js';
import type { EngineOptions } from '../fetch/engine.js';
import { channelLimitsOf } from '../wire/messages.js';
import type { RobotOptions } from './robot.js';

export function engineLimits(bot: Settings['bot']): Omit<EngineOptions, 'clock' | 'resolve'> {
  return {
    ...bot,
    minRateText: limitIn({ bot }, 'bot.min_rate_bytes_per_s'),
    contentLimitText: limitIn({ bot }, 'bot.max_content_bytes'),
    headerLimitText: limitIn({ bot }, 'bot.max_header_bytes'),
    redirectLimitText: limitIn({ bot }, 'bot.max_redirects'),
  };
}

export function robotLimits(
  settings: Settings,
): Pick<RobotOptions, 'slots' | 'maxWaiting' | 'channel' | 'syncContent'> {
  return { ...settings.bot, slots: settings.bm.slots, channel: channelLimitsOf(settings) };
}
