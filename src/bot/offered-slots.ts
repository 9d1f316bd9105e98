/** The slots that a robot tells its Bot Managers: its own, and one more for each fetch that goes on beside
 * them, as its site hardly answers. Such sites come and go: what they free is told together. */
import type { Clock } from '../lib/clock.js';

const OFFER_DELAY_MS = 500;

/** `last`: as they were told last. */
export function offeredSlots(own: number, clock: Clock, tell: (slots: number) => void) {
  let last = own;
  let cancel: (() => void) | undefined;
  let isStopped = false;
  return {
    get last() {
      return last;
    },
    /** @param slow counts fetches beside the slots when it is time to tell */
    look(slow: () => number): void {
      cancel ??= clock.after(OFFER_DELAY_MS, () => {
        cancel = undefined;
        const slots = own + slow();
        if (slots === last || isStopped) return;
        last = slots;
        tell(slots);
      });
    },
    stop(): void {
      isStopped = true;
      cancel?.();
    },
  };
}
