/** A provider that waits counts one priority higher for every `ageingMs` that it has waited. */
import { PRIORITIES } from './lane.js';

/** What a provider counts as that came with `priority`, and has waited since then. */
export function agedPriority(priority: number, sinceMs: number, nowMs: number, ageingMs: number): number {
  // safeguard: ageing
  return Math.min(PRIORITIES - 1, priority + Math.floor((nowMs - sinceMs) / ageingMs));
}
