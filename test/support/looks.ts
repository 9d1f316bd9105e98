/** How often entries of Maps and Sets are looked at one after the other: work that grows with their size, without a clock. */
export function looksAtEntries(action: () => void): number {
  const iterators = [new Map().values(), new Set().values()].map(
    iterator => Object.getPrototypeOf(iterator) as { next: () => unknown },
  );
  const originals = iterators.map(({ next }) => next);
  let looks = 0;
  for (const [i, iterator] of iterators.entries())
    iterator.next = function (this: unknown) {
      looks++;
      return originals[i]?.call(this);
    };
  try {
    action();
  } finally {
    for (const [i, iterator] of iterators.entries()) iterator.next = originals[i] ?? iterator.next;
  }
  return looks;
}
