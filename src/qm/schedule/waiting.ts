/**
 * The providers that wait for a slot: higher priorities first, among equals the one that has waited longest.
 * A provider counts more the longer it has waited. Within one priority the first has waited longest, so the
 * first of all is one of five.
 */
import { LOWEST, PRIORITIES } from './lane.js';

export interface First {
  pid: number;
  /** Priority of the provider by now. */
  priority: number;
}

export class WaitingLine {
  readonly #ageingMs: number;
  /** By the priority they came with, from `LOWEST` on. */
  readonly #lines: readonly PriorityLine[] = Array.from(
    { length: PRIORITIES - LOWEST },
    () => new PriorityLine(),
  );

  constructor(ageingMs: number) {
    this.#ageingMs = ageingMs;
  }

  get size(): number {
    return this.#lines.reduce((sum, line) => sum + line.size, 0);
  }

  /** Waits since `sinceMs`, after those that have waited longer; a provider that waits already goes on. */
  add(pid: number, priority: number, sinceMs: number): void {
    this.#lines[priority - LOWEST]?.add(pid, sinceMs);
  }

  remove(pid: number, priority: number): void {
    this.#lines[priority - LOWEST]?.remove(pid);
  }

  first(nowMs: number): First | undefined {
    let best: (First & { sinceMs: number }) | undefined;
    for (let base = PRIORITIES - 1; base >= LOWEST; base--) {
      const head = this.#head(base, nowMs);
      if (head === undefined) continue;
      if (
        best === undefined ||
        head.priority > best.priority ||
        (head.priority === best.priority && head.sinceMs < best.sinceMs)
      )
        best = head;
    }
    return best;
  }

  /** How many wait that count more than `priority`; of those who do by their age one of each line. */
  above(priority: number, nowMs: number): number {
    let count = 0;
    this.#lines.forEach((line, index) => {
      const base = index + LOWEST;
      if (base > priority) count += line.size;
      else if ((this.#head(base, nowMs)?.priority ?? -Infinity) > priority) count++;
    });
    return count;
  }

  #head(base: number, nowMs: number): (First & { sinceMs: number }) | undefined {
    const head = this.#lines[base - LOWEST]?.head();
    if (head === undefined) return undefined;
    const { pid, sinceMs } = head;
    return { pid, priority: agedPriority(base, sinceMs, nowMs, this.#ageingMs), sinceMs };
  }
}

interface Entry {
  pid: number;
  sinceMs: number;
  /** Among those that came at the same time. */
  order: number;
}

/** Entries that were removed and are still in the heap, beyond as many as it has: a fresh one is made without
 * them. */
const MAX_STALE = 64;

/** Those of one priority: a heap by the time since when they wait, in which those that were removed stay
 * until they come up. */
class PriorityLine {
  readonly #entries = new Map<number, Entry>();
  #heap: Entry[] = [];
  #added = 0;

  get size(): number {
    return this.#entries.size;
  }

  add(pid: number, sinceMs: number): void {
    if (this.#entries.has(pid)) return;
    const entry = { pid, sinceMs, order: this.#added++ };
    this.#entries.set(pid, entry);
    this.#push(entry);
  }

  remove(pid: number): void {
    if (!this.#entries.delete(pid) || this.#heap.length <= 2 * this.#entries.size + MAX_STALE) return;
    this.#heap = [...this.#entries.values()].toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  head(): Entry | undefined {
    for (;;) {
      const [top] = this.#heap;
      if (top === undefined || this.#entries.get(top.pid) === top) return top;
      this.#pop();
    }
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const above = (at - 1) >>> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(entry, parent)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const [a, b] = [heap[left], heap[left + 1]];
      if (a === undefined) break;
      const least = b !== undefined && isBefore(b, a) ? b : a;
      if (!isBefore(least, last)) break;
      heap[at] = least;
      at = least === a ? left : left + 1;
    }
    heap[at] = last;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.sinceMs < b.sinceMs || (a.sinceMs === b.sinceMs && a.order < b.order);
}

/** The priority that a provider counts as by now: one higher for every `ageingMs` that it has waited since it
 * came. */
export function agedPriority(priority: number, sinceMs: number, nowMs: number, ageingMs: number): number {
  // Urls that nobody announced never count as much as those that were.
  const most = priority < 0 ? -1 : PRIORITIES - 1;
  // safeguard: ageing
  return Math.min(most, priority + Math.floor((nowMs - sinceMs) / ageingMs));
}
