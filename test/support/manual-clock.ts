import type { Clock } from '../../src/lib/clock.js';

/** A clock that stands still until told. */
export class ManualClock implements Clock {
  #nowMs: number;
  #monotonicMs = 0;
  #timers: { atMs: number; action: () => void }[] = [];

  constructor(nowMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = nowMs;
  }
  nowMs(): number {
    return this.#nowMs;
  }
  monotonicMs(): number {
    return this.#monotonicMs;
  }
  after(delayMs: number, action: () => void): () => void {
    const timer = { atMs: this.#monotonicMs + delayMs, action };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter(t => t !== timer);
    };
  }
  /** When the next timer is due (monotonic); undefined when none is set. */
  nextMs(): number | undefined {
    return this.#timers.length === 0 ? undefined : Math.min(...this.#timers.map(t => t.atMs));
  }
  /** Lets `ms` pass on both clocks, firing due timers in order. */
  advance(ms: number): void {
    const endMs = this.#monotonicMs + ms;
    for (;;) {
      const due = this.#timers.filter(t => t.atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter(t => t !== due);
      this.#passTo(due.atMs);
      due.action();
    }
    this.#passTo(endMs);
  }
  /** Sets the wall clock without any time passing: a clock jump. */
  jumpTo(nowMs: number): void {
    this.#nowMs = nowMs;
  }
  #passTo(monotonicMs: number): void {
    this.#nowMs += Math.max(0, monotonicMs - this.#monotonicMs);
    this.#monotonicMs = Math.max(this.#monotonicMs, monotonicMs);
  }
}
