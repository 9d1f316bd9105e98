/**
 * The providers that wait for a slot: higher priorities first, among equals the one that has waited longest.
 * A provider counts more the longer it has waited. Within one priority the first has waited longest, so the
 * first of all is one of five.
 */
import { InOrder } from './in-order.js';
import { LOWEST, PRIORITIES } from './lane.js';

export interface First {
  pid: number;
  /** Priority of the provider by now. */
  priority: number;
}

export class WaitingLine {
  readonly #ageingMs: number;
  /** By the priority they came with, from `LOWEST` on. */
  readonly #lines = Array.from({ length: PRIORITIES - LOWEST }, () => new InOrder<number>());

  constructor(ageingMs: number) {
    this.#ageingMs = ageingMs;
  }

  get size(): number {
    return this.#lines.reduce((sum, line) => sum + line.size, 0);
  }

  /** Waits since `sinceMs`, after those that have waited longer; a provider that waits already goes on. */
  add(pid: number, priority: number, sinceMs: number): void {
    const line = this.#lines[priority - LOWEST];
    if (line?.has(pid) === false) line.set(pid, sinceMs);
  }

  remove(pid: number, priority: number): void {
    this.#lines[priority - LOWEST]?.delete(pid);
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
    const head = this.#lines[base - LOWEST]?.first();
    if (head === undefined) return undefined;
    const { key: pid, at: sinceMs } = head;
    return { pid, priority: agedPriority(base, sinceMs, nowMs, this.#ageingMs), sinceMs };
  }
}

/** The priority that a provider counts as by now: one higher for every `ageingMs` that it has waited since it
 * came. */
export function agedPriority(priority: number, sinceMs: number, nowMs: number, ageingMs: number): number {
  // Urls that nobody announced never count as much as those that were.
  const most = priority < 0 ? -1 : PRIORITIES - 1;
  // safeguard: ageing
  return Math.min(most, priority + Math.floor((nowMs - sinceMs) / ageingMs));
}
