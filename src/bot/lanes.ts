/**
 * Requests waiting in a robot. Each lane has one fetched at a time, in the order they came; as many lanes at
 * a time as there are slots. When its request ends, a lane goes on with its next at once, unless others wait
 * for a slot: then it goes after them.
 *
 *     idle ──a request comes──▶ ready ──a slot is free──▶ active ──its site hardly answers──▶ parked
 *                                 ▲                          ╰──────────┬──────────────────────╯
 *                                 ╰──another one waits── the request ends ──none does──▶ idle
 *
 * The request of a parked lane goes on, and its slot is free. As many lanes as there are slots can be parked
 * at a time.
 */
import { Fifo } from '../lib/fifo.js';
import { transitions, type StateOf } from '../lib/states.js';

const becomes = transitions('lane of the robot', {
  idle: ['ready'],
  ready: ['active', 'idle'],
  active: ['parked', 'ready', 'idle'],
  parked: ['ready', 'idle'],
});

type BotLaneState = StateOf<typeof becomes>;

export interface BotLane<R> {
  /** Requests that wait for this lane's turn, or for it to have a slot. */
  readonly waiting: Fifo<R>;
  state: BotLaneState;
}

export class BotLanes<R> {
  readonly #slots: number;
  /** Lanes that have a slot. */
  readonly #active = new Set<BotLane<R>>();
  /** Lanes that wait for their site without a slot. */
  readonly #parked = new Set<BotLane<R>>();
  /** Lanes without a slot that have something to do, longest waiting first. */
  readonly #ready = new Fifo<BotLane<R>>();
  #waiting = 0;

  constructor(slots: number) {
    this.#slots = slots;
  }

  /** Requests waiting. */
  get waiting(): number {
    return this.#waiting;
  }
  /** Lanes that have a slot. */
  get active(): number {
    return this.#active.size;
  }

  /** Lanes that are parked. */
  get parked(): number {
    return this.#parked.size;
  }

  create(): BotLane<R> {
    return { waiting: new Fifo(), state: 'idle' };
  }

  /** Puts a request at the end of its lane. */
  add(lane: BotLane<R>, request: R): void {
    lane.waiting.push(request);
    this.#waiting++;
    if (lane.state === 'idle') this.#enter(lane, 'ready');
  }

  /**
   * The request that begins next, its lane in a slot now; undefined when nothing waits or no slot is free.
   */
  next(): { lane: BotLane<R>; request: R } | undefined {
    const lane = this.#active.size < this.#slots ? this.#ready.shift() : undefined;
    const request = lane?.waiting.shift();
    if (lane === undefined || request === undefined) return undefined;
    this.#enter(lane, 'active');
    this.#waiting--;
    return { lane, request };
  }

  /** Frees the lane's slot while its request goes on, unless too many do so already. */
  park(lane: BotLane<R>): void {
    if (lane.state === 'active' && this.#parked.size < this.#slots) this.#enter(lane, 'parked');
  }

  /** The lane's request has ended. @returns whether more waits in it */
  end(lane: BotLane<R>): boolean {
    const more = lane.waiting.length > 0;
    this.#enter(lane, more ? 'ready' : 'idle');
    return more;
  }

  /** Takes out all that waits in a lane, in order. */
  withdraw(lane: BotLane<R>): R[] {
    const taken = lane.waiting.toArray();
    if (taken.length === 0) return taken;
    lane.waiting.retain(() => false);
    this.#waiting -= taken.length;
    if (lane.state === 'ready') {
      this.#ready.retain(other => other !== lane);
      this.#enter(lane, 'idle');
    }
    return taken;
  }

  /** True if one of the lane's requests is being fetched. */
  isActive(lane: BotLane<R>): boolean {
    return lane.state === 'active' || lane.state === 'parked';
  }

  /** Forgets requests that wait. @returns how many */
  drop(unwanted: (request: R) => boolean): number {
    const before = this.#waiting;
    for (const { waiting } of [...this.#ready.toArray(), ...this.#active, ...this.#parked]) {
      this.#waiting -= waiting.length;
      waiting.retain(request => !unwanted(request));
      this.#waiting += waiting.length;
    }
    this.#ready.retain(lane => {
      if (lane.waiting.length === 0) this.#enter(lane, 'idle');
      return lane.state === 'ready';
    });
    return before - this.#waiting;
  }

  /** Only here the lanes of a state change; one that is not ready any more has left `#ready` already. */
  #enter(lane: BotLane<R>, state: BotLaneState): void {
    this.#active.delete(lane);
    this.#parked.delete(lane);
    lane.state = becomes(lane.state, state);
    if (state === 'ready') this.#ready.push(lane);
    else if (state === 'active') this.#active.add(lane);
    else if (state === 'parked') this.#parked.add(lane);
  }
}
