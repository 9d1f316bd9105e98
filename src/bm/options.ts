/** Bounds of a Bot Manager, its store and a relay. */
import { freeDiskOf } from '../config/free-disk.js';
import type { Settings } from '../config/settings/index.js';
import { channelLimitsOf } from '../wire/messages.js';

export function storeLimits(settings: Settings) {
  const { graceMs, nameBlock, attemptTimeoutMs } = settings.bm;
  return { graceMs, blockNames: nameBlock, attemptMs: attemptTimeoutMs, minFree: freeDiskOf(settings, 'bm') };
}

/** Limits of a Bot Manager, or of a relay. */
export function managerLimits(settings: Settings) {
  return { ...settings.bm, channel: channelLimitsOf(settings) };
}
