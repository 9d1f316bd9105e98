/** Robots as workers: each task gets a name in the store, and keeps it when its robot vanishes and another
 * goes on. */
import type { Name } from '../db/names/names.js';
import type { FetchRequest, RobotResult } from '../wire/fetch.js';
import type { RobotEnd } from '../wire/bm-bot.js';
import type { Task, Worker } from './distribute.js';
import { storeFull } from './store-full-answer.js';
import type { Store } from './store.js';

/** A request of the source on its way to a robot. */
export interface FetchTask extends Task {
  readonly request: FetchRequest;
  /** Which connection to the source it came over; its results go nowhere else. */
  readonly source: number;
  /** Where its content goes, from the first attempt on. */
  destination: Name | undefined;
  /** Robots that vanished over it. */
  losses: number;
  /** A robot that vanished had it, and may still write to its destination. */
  tainted: boolean;
  /** True if the robot was told to hand the request back if it has not begun. */
  recalled: boolean;
  /** When its turn came at its robot. */
  startedMs: number;
}

export class RobotWorker implements Worker<FetchTask> {
  slots = 0;
  /** True if the robot takes requests for urls that nobody announced. */
  takesUnasked = false;
  readonly where: string;
  readonly #peer: RobotEnd;
  readonly #store: Store;
  readonly #nowMs: () => number;
  readonly #failed: (worker: RobotWorker, result: RobotResult) => void;

  /** @param failed gets each task that could not even begin */
  constructor(
    peer: RobotEnd,
    store: Store,
    nowMs: () => number,
    failed: (worker: RobotWorker, result: RobotResult) => void,
  ) {
    this.#peer = peer;
    this.#store = store;
    this.#nowMs = nowMs;
    this.#failed = failed;
    this.where = peer.channel.where;
  }

  /** For how long it has not answered a ping; 0 while it does. */
  get silentMs(): number {
    return this.#peer.silentMs;
  }

  give(task: FetchTask): void {
    const { request } = task;
    if (request.inline !== undefined) return this.#peer.fetch(task.number, undefined, request);
    task.destination ??= this.#store.take();
    if (task.destination === undefined)
      return this.#failed(this, storeFull(task.number, this.#store.describeRoom()));
    this.#peer.fetch(task.number, this.#store.pathOf(task.destination), request);
  }

  turn(task: FetchTask): void {
    task.startedMs = this.#nowMs();
  }

  recall(lane: string, tasks: readonly FetchTask[], begun: boolean): void {
    for (const task of tasks) task.recalled = true;
    this.#peer.recall(lane, begun);
  }

  /** The robot said that the lane's site wants to be left alone: what the robot is given from now on is
   * meant. */
  heardStop(lane: string): void {
    this.#peer.recall(lane);
  }

  /** Cuts the robot off; what it was doing goes to others. */
  cut(reason: Parameters<RobotEnd['channel']['destroy']>[0]): void {
    this.#peer.channel.destroy(reason);
  }
}
