/** Bounds of a Bot Manager, its store and a relay. */
import { freeDiskOf } from '../config/free-disk.js';
import type { Settings } from '../config/settings/index.js';
import { channelLimitsOf } from '../wire/messages.js';

/** Robots, or Bot Managers below, that may end over a url before it is given up for now. */
const MAX_LOSSES = 5;
/** Lanes that a relay gives a Bot Manager below it beyond the slots of that. */
const OVERBOOK_PERCENT = 25;

export function storeLimits(settings: Settings) {
  const { graceMs, nameBlock, attemptTimeoutMs } = settings.bm;
  return {
    graceMs,
    blockNames: nameBlock,
    attemptMs: attemptTimeoutMs,
    minFree: freeDiskOf(settings, 'bm'),
  };
}

/** Limits of a Bot Manager, or of a relay. */
export function managerLimits(settings: Settings) {
  return {
    ...settings.bm,
    maxLosses: MAX_LOSSES,
    overbookPercent: OVERBOOK_PERCENT,
    channel: channelLimitsOf(settings),
  };
}
