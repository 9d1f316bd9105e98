/**
 * The state that decides if a rail is sent anything.
 *
 *     up ──no connection──▶ suspect ──no connection, 200 ms later──▶ down
 *      ▲ ▲                     │                                      │
 *      │ ╰────any answer───────╯                                      │
 *      │     up, suspect ──N requests unanswered in a row──▶ down     │
 *      │     up, suspect ──administrator──▶ down                      │
 *      ╰──────────────────administrator───────────────────────────────╯
 *
 * `rail_status` has UP or DOWN with the time of the change; a daemon writes DOWN only, and nobody but the
 * administrator makes a rail UP. A stored change counts here when it is strictly later than the last one
 * known.
 */
import type { RailStored } from '../db/clear/rails.js';
import { transitions, type StateOf } from '../lib/states.js';

interface StoredState {
  state: RailStored;
  changeTimeMs: number;
}

interface RailStateLimits {
  /** Between two tries to connect, both of which must fail. */
  suspectMs: number;
  /** Requests in a row that are not answered in time. */
  hungAfter: number;
}

const enter = transitions('rail', {
  up: ['suspect', 'down'],
  suspect: ['up', 'down'],
  down: ['up'],
});

type RailStateName = StateOf<typeof enter>;

export class RailState {
  readonly #limits: RailStateLimits;
  #state: RailStateName;
  #changedMs: number;
  /** Monotonic: when a rail under suspicion is tried again. */
  #probeAtMs = 0;
  #unanswered = 0;

  constructor(stored: StoredState, limits: RailStateLimits) {
    this.#limits = limits;
    this.#state = stored.state === 'UP' ? 'up' : 'down';
    this.#changedMs = stored.changeTimeMs;
  }

  get name(): RailStateName {
    return this.#state;
  }

  /** When it went up or down last, milliseconds since 1970. */
  get changedMs(): number {
    return this.#changedMs;
  }

  /** Monotonic; of a rail under suspicion. */
  get probeAtMs(): number {
    return this.#probeAtMs;
  }

  /** Takes the state in the table. @returns the change of the rail by it; undefined: none */
  refresh({ state, changeTimeMs }: StoredState): 'up' | 'down' | undefined {
    if (this.#changedMs >= changeTimeMs) return undefined;
    const isDown = this.#state === 'down';
    if ((state === 'DOWN') === isDown) return undefined;
    this.#changedMs = changeTimeMs;
    this.#unanswered = 0;
    this.#become(isDown ? 'up' : 'down');
    return isDown ? 'up' : 'down';
  }

  /** Any answer, be it an error. */
  answered(): void {
    this.#unanswered = 0;
    if (this.#state === 'suspect') this.#become('up');
  }

  /**
   * No connection could be made for a request.
   * @param triedAtMs when that began, monotonic
   */
  unreachable(triedAtMs: number, nowMs: number): 'suspect' | 'down' | undefined {
    if (this.#state === 'up') {
      this.#probeAtMs = nowMs + this.#limits.suspectMs;
      return this.#become('suspect');
    }
    // Requests that were under way already say nothing new.
    if (this.#state === 'suspect' && triedAtMs >= this.#probeAtMs) return this.#become('down');
    return undefined;
  }

  /** A request was taken and not answered in time. */
  unanswered(): 'down' | undefined {
    if (this.#state === 'down' || ++this.#unanswered < this.#limits.hungAfter) return undefined;
    return this.#become('down');
  }

  /** The rail was found down at this time, and that must be stored. */
  noted(atMs: number): void {
    this.#changedMs = atMs;
  }

  /** Something as late was stored meanwhile, which counts: the next look takes it. */
  gaveWay(changeTimeMs: number): void {
    this.#changedMs = changeTimeMs - 1;
  }

  #become<S extends RailStateName>(next: S): S {
    this.#state = enter(this.#state, next);
    if (next === 'down') this.#unanswered = 0;
    return next;
  }
}
