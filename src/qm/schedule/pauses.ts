/** Providers that no url is sent to before a time: because of a delay, or to let others get on. */
import { DelayTable, type DelayRules } from './delays.js';

export class Pauses {
  readonly #delays: DelayTable<number>;
  readonly #rests: DelayTable<number>;

  constructor(rules: DelayRules) {
    this.#delays = new DelayTable(rules);
    this.#rests = new DelayTable(rules);
  }

  /** Providers with a delay. */
  get delayed(): number {
    return this.#delays.size;
  }

  has(pid: number): boolean {
    return this.#delays.has(pid) || this.#rests.has(pid);
  }

  /** @param untilMs monotonic; one that is over is none */
  delay(pid: number, untilMs: number, nowMs: number): void {
    if (untilMs > nowMs) this.#delays.set(pid, untilMs);
    else this.#delays.delete(pid);
  }

  /** Its delay is another matter. */
  rest(pid: number, untilMs: number): void {
    this.#rests.set(pid, untilMs);
  }

  delete(pid: number): void {
    this.#delays.delete(pid);
    this.#rests.delete(pid);
  }

  /** Takes out the providers with a delay or rest that is over. */
  due(nowMs: number): number[] {
    return [...this.#delays.due(nowMs), ...this.#rests.due(nowMs)];
  }

  /** When `due` is worth asking again; Infinity when nobody waits. */
  nextMs(): number {
    return Math.min(this.#delays.nextMs() ?? Infinity, this.#rests.nextMs() ?? Infinity);
  }
}
