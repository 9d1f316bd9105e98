import type { Clock } from '../lib/clock.js';

/** Factor of the rest after counting: this many times as long as the count took. */
const REST = 100;

/** A number that takes a moment to count, for a status that may be asked for at any time: as it is now, or
 * was a while ago. `forget`: it has changed. */
export function sparingCount(clock: Clock, count: () => number): { readonly value: number; forget(): void } {
  let counted: { value: number; untilMs: number } | undefined;
  return {
    get value() {
      const fromMs = clock.monotonicMs();
      if (counted === undefined || fromMs >= counted.untilMs) {
        const value = count();
        const nowMs = clock.monotonicMs();
        counted = { value, untilMs: nowMs + (nowMs - fromMs) * REST };
      }
      return counted.value;
    },
    forget: () => void (counted = undefined),
  };
}
