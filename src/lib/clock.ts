/** Time, passed in wherever it is needed so that tests decide what it is. Order and cursors never depend on
 * `nowMs` (wall clocks jump); durations are measured with `monotonicMs`. */
export interface Clock {
  /** Wall clock, milliseconds since 1970-01-01 UTC. */
  nowMs(): number;
  /** Never goes back; milliseconds from an arbitrary origin. */
  monotonicMs(): number;
  /**
   * Calls `action` once after `delayMs`; the returned function cancels it. Does not keep the process alive.
   */
  after(delayMs: number, action: () => void): () => void;
}

/** The machine's own clocks. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
