/** What a Bot Manager, its store and a relay are bounded by: plain values, taken from the settings in one place. */
import { freeDiskOf } from '../config/free-disk.js';
import type { Config } from '../config/load.js';
import { linkLimitsOf } from '../wire/messages.js';
import type { BotManagerOptions } from './manager.js';
import type { RelayOptions } from './relay.js';
import type { StoreOptions } from './store.js';

/** Limits that are no settings come from the caller. */
export function storeLimits(
  config: Config,
): Pick<StoreOptions, 'graceMs' | 'blockNames' | 'minFree' | 'attemptMs'> {
  return {
    graceMs: config.get('bm.grace_ms'),
    blockNames: config.get('bm.name_block'),
    minFree: freeDiskOf(config, 'bm'),
    attemptMs: config.get('bm.attempt_timeout_ms'),
  };
}

export function managerLimits(
  config: Config,
): Omit<BotManagerOptions, 'store' | 'clock' | 'log' | 'refused'> {
  return {
    channel: linkLimitsOf(config),
    maxWaiting: config.get('bm.max_waiting'),
    laneWindow: config.get('bm.lane_window'),
    maxLosses: config.get('bm.max_losses'),
    attemptTimeoutMs: config.get('bm.attempt_timeout_ms'),
    robotWaitMs: config.get('bm.robot_wait_ms'),
  };
}

export function relayLimits(config: Config): Omit<RelayOptions, 'clock' | 'log' | 'refused'> {
  return {
    channel: linkLimitsOf(config),
    maxWaiting: config.get('bm.max_waiting'),
    laneWindow: config.get('bm.lane_window'),
    overbookPercent: config.get('bm.overbook_percent'),
    maxLosses: config.get('bm.max_losses'),
  };
}
