/** The obstacle to fetching from a provider: one thing, the one that must go first. */
import { hoursOfMask, hoursOfSlots, opensAtMs, permits, slotOf, type Slots } from '../../config/hours.js';
import type { ProviderStanding } from '../../db/queue/shape.js';

/** The strongest first; `later`: all its urls wait for hours of their own. */
export interface Obstacle {
  state: 'moving' | 'disabled' | 'paused' | 'back-off' | 'closed' | 'later' | 'bandwidth';
  /** Milliseconds since 1970, where it is known. */
  until_ms?: number;
}

/** @param slots of the period, as the Queue Manager has it */
export function obstacleOf(provider: ProviderStanding, nowMs: number, slots: Slots): Obstacle | undefined {
  if (provider.moving !== 0) return { state: 'moving' };
  if (provider.enabled === 0) return { state: 'disabled' };
  if (provider.paused !== 0) return { state: 'paused' };
  if (provider.backoffuntil * 1000 > nowMs)
    return { state: 'back-off', until_ms: provider.backoffuntil * 1000 };
  const hours = hoursOfMask(provider.timeofday, slots);
  if (!permits(hours, slotOf(nowMs, slots)))
    return { state: 'closed', ...until(opensAtMs(hours, nowMs, slots)) };
  if (provider.later > 0 && provider.later >= provider.waiting)
    return { state: 'later', ...until(opensAtMs(hoursOfSlots(provider.later_slots, slots), nowMs, slots)) };
  return provider.dueat > nowMs ? { state: 'bandwidth', until_ms: provider.dueat } : undefined;
}

function until(atMs: number | undefined): Pick<Obstacle, 'until_ms'> {
  return atMs === undefined ? {} : { until_ms: atMs };
}
