/**
 * Room for small work beside large: a task that works on a peer's million of urls rests for twice as long as
 * it worked, whenever others had something to do lately. Alone it never rests, and never waits longer than a
 * moment; but the event loop goes round in between, so that a newcomer is seen: Node reads up to 32 chunks in
 * a row of a connection that always has more.
 */
import type { Clock } from './clock.js';

/** Where others had something to do, more will come. */
const LATELY_MS = 1000;
/** In spells of work: a request that comes at any time has the process to itself more often than not. */
const REST = 2;
/** Timers are not exact: shorter rests are saved up. */
const SHORTEST_REST_MS = 2;
const LONGEST_REST_MS = 50;

export class DutyCycle<Who> {
  readonly #clock: Clock;
  /** The peer that had something to do last, and the one before it. */
  #last: { who: Who; atMs: number } | undefined;
  #before: { who: Who; atMs: number } | undefined;
  #owedMs = 0;
  #yieldedMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `who` has something to do. */
  note(who: Who): void {
    if (this.#last?.who !== who) this.#before = this.#last;
    this.#last = { who, atMs: this.#clock.monotonicMs() };
  }

  /** True if anybody else had something to do lately. */
  hasOthers(who: Who): boolean {
    const other = this.#last?.who === who ? this.#before : this.#last;
    return other !== undefined && this.#clock.monotonicMs() - other.atMs < LATELY_MS;
  }

  /** True if two had something to do lately. */
  get isShared(): boolean {
    return this.#last !== undefined && this.hasOthers(this.#last.who);
  }

  /** True if large work for `who` makes room now: somebody else had something to do lately. */
  mustYield(who: Who): boolean {
    const must = this.hasOthers(who);
    if (must) this.#yieldedMs = this.#clock.monotonicMs();
    return must;
  }

  /** True if large work made room for others lately. */
  get isYielding(): boolean {
    return this.#clock.monotonicMs() - this.#yieldedMs < LATELY_MS;
  }

  /** After `workedMs` of large work for `who`: resolves when it may go on. */
  async rest(who: Who, workedMs: number): Promise<void> {
    this.#owedMs = this.mustYield(who) ? this.#owedMs + REST * workedMs : 0;
    if (this.#owedMs < SHORTEST_REST_MS)
      return await new Promise<void>(resolve => void setImmediate(resolve));
    const restMs = Math.min(LONGEST_REST_MS, this.#owedMs);
    this.#owedMs = 0;
    await new Promise<void>(resolve => void this.#clock.after(restMs, resolve));
  }
}
