/** A provider that waits counts one priority higher for every `ageingMs` that it has waited. */
import { PRIORITIES } from './lane.js';

/** What a provider counts as that came with `priority`, and has waited since then. */
export function agedPriority(priority: number, sinceMs: number, nowMs: number, ageingMs: number): number {
  // What nobody announced never counts as much as what was.
  const most = priority < 0 ? -1 : PRIORITIES - 1;
  // safeguard: ageing
  return Math.min(most, priority + Math.floor((nowMs - sinceMs) / ageingMs));
}
