/**
 * The providers that wait for a slot: higher priorities first, among equals who has waited longest. Who waits counts one
 * priority higher for every `ageingMs` of it. Within one priority the first has waited longest, so the first of all is one
 * of three.
 */
import { PRIORITIES } from './lane.js';

export interface First {
  pid: number;
  /** What it counts as by now. */
  priority: number;
}

export class WaitingLine {
  readonly #ageingMs: number;
  /** By the priority they came with: since when they wait, in that order. */
  readonly #lines: readonly Map<number, number>[] = Array.from({ length: PRIORITIES }, () => new Map());

  constructor(ageingMs: number) {
    this.#ageingMs = ageingMs;
  }

  get size(): number {
    return this.#lines.reduce((sum, line) => sum + line.size, 0);
  }

  /** Begins to wait, at the end; who waits already goes on. */
  add(pid: number, priority: number, nowMs: number): void {
    const line = this.#lines[priority];
    if (line?.has(pid) === false) line.set(pid, nowMs);
  }

  remove(pid: number, priority: number): void {
    this.#lines[priority]?.delete(pid);
  }

  first(nowMs: number): First | undefined {
    let best: (First & { sinceMs: number }) | undefined;
    for (let base = PRIORITIES - 1; base >= 0; base--) {
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
    this.#lines.forEach((line, base) => {
      if (base > priority) count += line.size;
      else if ((this.#head(base, nowMs)?.priority ?? 0) > priority) count++;
    });
    return count;
  }

  #head(base: number, nowMs: number): (First & { sinceMs: number }) | undefined {
    for (const [pid, sinceMs] of this.#lines[base] ?? []) {
      // safeguard: ageing
      const priority = Math.min(PRIORITIES - 1, base + Math.floor((nowMs - sinceMs) / this.#ageingMs));
      return { pid, priority, sinceMs };
    }
    return undefined;
  }
}
