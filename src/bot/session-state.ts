/** State that a robot keeps of a connection and of each request over it. */
import type { LccError } from '../lib/errors.js';
import type { ManagerEnd } from '../wire/bm-bot.js';
import type { RobotRequest, RobotResult } from '../wire/fetch.js';
import { Stops } from '../wire/left-alone.js';
import type { Cancellable, FetchEvents } from '../fetch/job.js';
import type { FetchOutcome } from '../fetch/outcome.js';
import type { MemorySink } from '../fetch/sink.js';
import type { BotLane } from './lanes.js';
import type { FileOwner } from './store-files.js';

/** A connection that asks for fetches. A person may end the sending side and still wait for results (`echo …
 * | nc`), and sends no pings. A Bot Manager that ends that is gone, and one that is silent hangs. */
export type Asker = 'manager' | 'person';

export interface Served {
  /** True if it may have that file written. */
  mayWrite: (path: string) => boolean;
  /** Called once, with the reason when it was not good order. */
  closed: (reason: LccError | undefined) => void;
}

export interface Session extends Pick<Served, 'mayWrite'> {
  peer: ManagerEnd;
  asker: Asker;
  lanes: Map<string, BotLane<WaitingRequest>>;
  running: Set<Cancellable>;
  /** The running fetch of each lane. */
  asking: Map<string, Cancellable>;
  readonly stops: Stops;
  /** Number of requests without a result yet. */
  open: number;
  unsent: RobotResult[];
  cancelSend: (() => void) | undefined;
  ended: boolean;
  closed: boolean;
}

export function newSession(peer: ManagerEnd, asker: Asker, mayWrite: Session['mayWrite']): Session {
  return {
    peer,
    asker,
    mayWrite,
    lanes: new Map(),
    running: new Set(),
    asking: new Map(),
    stops: new Stops(),
    open: 0,
    unsent: [],
    cancelSend: undefined,
    ended: false,
    closed: false,
  };
}

export interface WaitingRequest {
  session: Session;
  request: RobotRequest;
}

/** Questions and reports of a fetch to the robot. */
export interface Ahead {
  isBusy(): boolean;
  isLastOf(lane: BotLane<WaitingRequest>): boolean;
  park(lane: BotLane<WaitingRequest>): void;
  leaveLane(begun: BegunFetch): void;
  end(begun: BegunFetch, outcome: FetchOutcome): void;
}

/** A request that is being fetched: one object, since functions of its own for each show in what a page
 * costs. */
export class BegunFetch implements FetchEvents, FileOwner {
  readonly session: Session;
  readonly request: RobotRequest;
  readonly lane: BotLane<WaitingRequest>;
  readonly #ahead: Ahead;
  fetch: Cancellable | undefined;
  /** Where its content is that is wanted with the result. */
  inline: MemorySink | undefined;
  /** True if its site is still being asked. */
  inLane = true;
  over = false;

  constructor(session: Session, request: RobotRequest, lane: BotLane<WaitingRequest>, ahead: Ahead) {
    this.session = session;
    this.request = request;
    this.lane = lane;
    this.#ahead = ahead;
  }
  isBusy(): boolean {
    return this.#ahead.isBusy();
  }
  isAwaited(): boolean {
    return this.inLane && this.#ahead.isLastOf(this.lane);
  }
  slow(): void {
    if (this.inLane) this.#ahead.park(this.lane);
  }
  received(): void {
    this.#ahead.leaveLane(this);
  }
  done(outcome: FetchOutcome): void {
    this.#ahead.end(this, outcome);
  }
}
