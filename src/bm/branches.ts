/** Workers below a relay: Bot Managers and further relays, which take more lanes than they have slots. */
import type { FetchRequest } from '../wire/fetch.js';
import type { BotManagerPeer } from '../wire/qm-bm.js';
import type { Task, Worker } from './distribute.js';

/** A request of the source on its way to a branch. */
export interface RelayTask extends Task {
  readonly request: FetchRequest;
  /** Which connection to the source it came over; its results go nowhere else. */
  readonly source: number;
  /** Branches that vanished over it, or handed it back unasked. */
  losses: number;
  /** True if the branch was told to hand the request back if it has not begun. */
  recalled: boolean;
}

export class Branch implements Worker<RelayTask> {
  readonly peer: BotManagerPeer;
  readonly #overbookPercent: number;
  relays = false;
  /** True if the branch takes requests for urls that nobody announced. */
  takesUnasked = false;
  #offered = 0;
  #rests = false;

  constructor(peer: BotManagerPeer, overbookPercent: number) {
    this.peer = peer;
    this.#overbookPercent = overbookPercent;
  }

  /** Fetches it does at a time. */
  get offered(): number {
    return this.#rests ? 0 : this.#offered;
  }
  /** Lanes it is given, more than it fetches at a time: a slot that falls free finds work. */
  get slots(): number {
    return Math.ceil(this.offered * (1 + this.#overbookPercent / 100));
  }

  offer(slots: number): void {
    this.#offered = slots;
    this.#rests = false;
  }

  /** Gives it nothing until told otherwise, or until it says again what it can do. */
  rest(rests: boolean): void {
    this.#rests = rests;
  }

  give(task: RelayTask): void {
    this.peer.fetch({ ...task.request, id: task.number });
  }

  turn(): void {
    // When a fetch begins is its Bot Manager's business.
  }

  recall(lane: string, tasks: readonly RelayTask[], begun: boolean): void {
    for (const task of tasks) task.recalled = true;
    this.peer.recall(lane, begun);
  }
}
