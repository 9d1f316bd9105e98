/** How many urls are on their way in a lane at a time. */
import type { Lane, ProviderLanes } from './lane.js';

const REFILL_URLS = 128;

/**
 * Few lanes have large windows: a Queue Manager that writes results must not leave them without urls meanwhile. A lane beyond
 * the slots has one url.
 * @param lanesBeside lanes at its Bot Manager, its own included
 * @param sharedWindow urls on their way to a Bot Manager that its lanes share when that makes their windows larger
 */
export function windowOf(
  lane: Lane,
  provider: ProviderLanes | undefined,
  lanesBeside: number,
  sharedWindow: number,
): number {
  const window = lane.state === 'overbooked' ? 1 : (provider?.window ?? 1);
  if (window === 1 || provider === undefined) return 1;
  if (provider.yielding) return Math.min(provider.share, window);
  const shared = Math.floor(sharedWindow / lanesBeside);
  return Math.min(provider.share, Math.max(window, shared));
}

/** Urls are read from the queue several at a time, but few enough that the others do not wait for it. */
export function isHungry(lane: Lane, provider: ProviderLanes | undefined, window: number): boolean {
  if (provider?.yielding === true) return lane.inFlight === 0;
  return 2 * (window - lane.inFlight) >= Math.min(window, 2 * REFILL_URLS);
}
