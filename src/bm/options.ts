/** Bounds of a Bot Manager, its store and a relay. */
import { freeDiskOf } from '../config/free-disk.js';
import type { Settings } from '../config/settings/index.js';
import type { Clock } from '../lib/clock.js';
import type { LccError } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { channelLimitsOf, type LinkLimits } from '../wire/messages.js';

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

/** Options that a Bot Manager and a relay have alike: both pass on what a source asks to workers, which are
 * robots or branches. */
export interface PassingOptions {
  clock: Clock;
  log: Log;
  channel: LinkLimits;
  /** Requests waiting for workers, and deletions, at which the source is not read any more. */
  maxWaiting: number;
  /** Requests of one lane at a worker at a time. */
  laneWindow: number;
  /** Workers that may vanish over one request, or hand it back unasked, before it is answered. */
  maxLosses: number;
  /** Called when the source does not want this one, or does not take its store for the one it knows of. */
  refused(reason: LccError): void;
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
