/** Who must give a sign of life, and when: each once in a period after it was added, and after each sign. */
import type { Clock } from '../../lib/clock.js';

export class UpdateClock<T> {
  readonly #periodMs: number;
  readonly #clock: Clock;
  readonly #due: (members: T[]) => void;
  /** When each is due, the earliest first: all have the same period. */
  readonly #members = new Map<T, number>();
  #cancel: (() => void) | undefined;

  /**
   * @param due gets those that are due together; they are due again a period later unless they are removed
   * meanwhile
   */
  constructor(periodMs: number, clock: Clock, due: (members: T[]) => void) {
    this.#periodMs = periodMs;
    this.#clock = clock;
    this.#due = due;
  }

  add(member: T): void {
    this.#members.set(member, this.#clock.monotonicMs() + this.#periodMs);
    if (this.#cancel === undefined) this.#wait();
  }

  remove(member: T): void {
    this.#members.delete(member);
  }

  close(): void {
    this.#members.clear();
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #wait(): void {
    this.#cancel = undefined;
    for (const [, dueMs] of this.#members) {
      this.#cancel = this.#clock.after(Math.max(1, dueMs - this.#clock.monotonicMs()), () => this.#look());
      return;
    }
  }

  #look(): void {
    const nowMs = this.#clock.monotonicMs();
    const due: T[] = [];
    for (const [member, dueMs] of this.#members) {
      if (dueMs > nowMs) break;
      due.push(member);
    }
    for (const member of due) {
      this.#members.delete(member);
      this.#members.set(member, nowMs + this.#periodMs);
    }
    if (due.length > 0) this.#due(due);
    this.#wait();
  }
}
