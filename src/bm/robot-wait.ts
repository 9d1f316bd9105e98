/** Requests that wait while there is no robot go back to the source after `bm.robot_wait_ms`; `lccd` starts
 * one that died within seconds. */
import type { Clock } from '../lib/clock.js';

export function robotWait(clock: Clock, waitMs: number, giveBack: () => void) {
  let cancel: (() => void) | undefined;
  const stop = (): void => {
    cancel?.();
    cancel = undefined;
  };
  return {
    /** @param slots of all robots @param waiting requests that no robot has */
    look(slots: number, waiting: number): void {
      if (slots > 0) return stop();
      if (waiting === 0) return;
      cancel ??= clock.after(waitMs, () => {
        cancel = undefined;
        giveBack();
      });
    },
    stop,
  };
}
