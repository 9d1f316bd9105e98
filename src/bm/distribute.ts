/**
 * Who does what next. Tasks come in lanes: of one lane one task runs at a time, in the order they came; different lanes
 * run in parallel, up to the slots of the workers. What a worker is (a robot, or a Bot Manager below) is not known here.
 *
 *     waiting in its lane ──a worker has a free slot──▶ running ──finish──▶ done
 *                ▲                                         │
 *                ╰────── the worker is gone, `lost` says again ──╯  (in front of its lane)
 */
export interface Task {
  /** Unique here: what the worker will call it. */
  readonly number: number;
  readonly lane: string;
}

export interface Worker<T extends Task> {
  /** Tasks it does at a time. */
  slots: number;
  begin(task: T): void;
}

interface Lane<T extends Task> {
  readonly name: string;
  readonly waiting: T[];
  running: boolean;
  /** Who did the last one: it may still hold a connection to the site. */
  last: Worker<T> | undefined;
}

export class Distributor<T extends Task> {
  readonly #lost: (task: T, worker: Worker<T>) => boolean;
  readonly #lanes = new Map<string, Lane<T>>();
  readonly #workers = new Map<Worker<T>, Map<number, T>>();
  #ready: Lane<T>[] = [];
  #waiting = 0;
  #running = 0;
  #pumping = false;

  /** @param lost whether a task whose worker is gone is to be given to another */
  constructor(lost: (task: T, worker: Worker<T>) => boolean) {
    this.#lost = lost;
  }

  get waiting(): number {
    return this.#waiting;
  }
  get running(): number {
    return this.#running;
  }
  get lanes(): number {
    return this.#lanes.size;
  }
  get workers(): number {
    return this.#workers.size;
  }
  get slots(): number {
    let slots = 0;
    for (const worker of this.#workers.keys()) slots += worker.slots;
    return slots;
  }

  add(task: T): void {
    let lane = this.#lanes.get(task.lane);
    if (lane === undefined) {
      lane = { name: task.lane, waiting: [], running: false, last: undefined };
      this.#lanes.set(task.lane, lane);
    }
    lane.waiting.push(task);
    this.#waiting++;
    if (lane.waiting.length === 1 && !lane.running) this.#ready.push(lane);
    this.pump();
  }

  join(worker: Worker<T>): void {
    this.#workers.set(worker, new Map());
    this.pump();
  }

  /** The worker is gone: what it was doing is given to others, the longest-running first. */
  leave(worker: Worker<T>): void {
    const running = this.#workers.get(worker);
    if (running === undefined) return;
    this.#workers.delete(worker);
    this.#running -= running.size;
    const again: Lane<T>[] = [];
    for (const task of running.values()) {
      const lane = this.#lanes.get(task.lane);
      if (lane === undefined) continue;
      lane.running = false;
      lane.last = undefined;
      if (this.#lost(task, worker)) {
        lane.waiting.unshift(task);
        this.#waiting++;
      }
      if (lane.waiting.length > 0) again.push(lane);
      else this.#lanes.delete(lane.name);
    }
    this.#ready = [...again, ...this.#ready];
    this.pump();
  }

  /** The worker has done a task; undefined when it had no such task. Room for the next is given by `pump`. */
  finish(worker: Worker<T>, number: number): T | undefined {
    const running = this.#workers.get(worker);
    const task = running?.get(number);
    if (running === undefined || task === undefined) return undefined;
    running.delete(number);
    this.#running--;
    const lane = this.#lanes.get(task.lane);
    if (lane !== undefined) {
      lane.running = false;
      if (lane.waiting.length > 0) this.#ready.push(lane);
      else this.#lanes.delete(lane.name);
    }
    return task;
  }

  /** Takes out tasks that have not begun. */
  withdraw(wanted: (task: T) => boolean): T[] {
    const taken: T[] = [];
    for (const lane of this.#lanes.values()) {
      const kept: T[] = [];
      for (const task of lane.waiting) (wanted(task) ? taken : kept).push(task);
      lane.waiting.splice(0, lane.waiting.length, ...kept);
      if (kept.length === 0 && !lane.running) this.#lanes.delete(lane.name);
    }
    this.#ready = this.#ready.filter(lane => lane.waiting.length > 0);
    this.#waiting -= taken.length;
    return taken;
  }

  /** The task the worker has been at for longest. */
  oldestOf(worker: Worker<T>): T | undefined {
    return this.#workers.get(worker)?.values().next().value;
  }

  /** Gives waiting tasks to free slots; to be called whenever slots have come. */
  pump(): void {
    // A worker may be done before `begin` returns; the loop that called it goes on then.
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (this.#beginNext());
    } finally {
      this.#pumping = false;
    }
  }

  /** Begins the next task; false when none waits or no slot is free. */
  #beginNext(): boolean {
    const lane = this.#ready[0];
    const worker = lane === undefined ? undefined : this.#choose(lane);
    if (lane === undefined || worker === undefined) return false;
    this.#ready.shift();
    const task = lane.waiting.shift();
    if (task === undefined) return true;
    lane.running = true;
    lane.last = worker;
    this.#waiting--;
    this.#running++;
    this.#workers.get(worker)?.set(task.number, task);
    worker.begin(task);
    return true;
  }

  #choose(lane: Lane<T>): Worker<T> | undefined {
    if (lane.last !== undefined && this.#freeOf(lane.last) > 0) return lane.last;
    let best: Worker<T> | undefined;
    let bestFree = 0;
    for (const worker of this.#workers.keys()) {
      const free = this.#freeOf(worker);
      if (free > bestFree) {
        best = worker;
        bestFree = free;
      }
    }
    return best;
  }

  #freeOf(worker: Worker<T>): number {
    const running = this.#workers.get(worker);
    return running === undefined ? 0 : worker.slots - running.size;
  }
}
