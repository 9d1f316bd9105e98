/** Waiting, without the event loop, for a counter that another thread adds to and then notifies of. */

/** The other thread's part: what is waited for has come. */
export function addToCount(counters: Int32Array, index: number): void {
  Atomics.add(counters, index, 1);
  Atomics.notify(counters, index);
}

/**
 * Waits until a counter is no longer what was seen of it. `Atomics.wait` alone may end before: a thread that
 * saw the new number without having to wait, and waits for the next one at once, is woken by the notice of
 * the first, which comes after it.
 * @returns false when the time ran out
 */
export function awaitCount(
  counters: Int32Array,
  index: number,
  seen: number,
  patienceMs = Infinity,
): boolean {
  while (Atomics.load(counters, index) === seen)
    if (Atomics.wait(counters, index, seen, patienceMs) === 'timed-out') return false;
  return true;
}
