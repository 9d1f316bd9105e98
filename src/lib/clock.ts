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

/** Resolves after `delayMs`, or when it is stopped. Does not keep the process alive. */
export function pause(clock: Clock, delayMs: number, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return Promise.resolve();
  return new Promise(resolve => {
    const done = () => {
      cancel();
      stop.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(delayMs, done);
    stop.addEventListener('abort', done);
  });
}

/** The same, and keeps the process alive. */
export async function stayFor(...wait: Parameters<typeof pause>): Promise<void> {
  const alive = setInterval(() => undefined, 2 ** 30);
  await pause(...wait);
  clearInterval(alive);
}

/** The value of `work`, or undefined when it is not there after `delayMs`; it goes on all the same. */
export async function within<T>(
  clock: Pick<Clock, 'after'>,
  work: Promise<T>,
  delayMs: number,
): Promise<T | undefined> {
  let cancel = () => {};
  const late = new Promise<undefined>(resolve => {
    cancel = clock.after(delayMs, () => resolve(undefined));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
  }
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
