/**
 * Which worker gets which task next. Tasks come in lanes: those of one lane are done one after the other, in
 * the order they came, by one worker at a time; different lanes run in parallel, up to the slots of the
 * workers. A worker has a few tasks of each of its lanes, a window, so that the next can begin there the
 * moment one ends. What a worker is (a robot, or a Bot Manager below) is not known here.
 *
 *   waiting in its lane ──the lane has a slot, and room in its window──▶ given ──its turn──▶ finish──▶ done
 *              ▲                                                           │
 *              ╰── the worker is gone, `lost` says again; or hands it back ╯  (first of its lane, in order)
 *   recall: what waits is taken out; of what is given the worker finishes what has begun, hands back the rest
 *
 * While lanes wait for a slot nothing more is given in those that have one: they end, and take their turn
 * again.
 */
export interface Task {
  /** Unique here, rising: what the worker will call it. */
  readonly number: number;
  readonly lane: string;
}

export interface Worker<T extends Task> {
  /** Lanes it works on at a time. */
  slots: number;
  give(task: T): void;
  /** Nothing given before in its lane is left: it can have begun now, and not earlier. */
  turn(task: T): void;
  /** `tasks` is all the worker has of one lane: it must finish those not begun without doing them. */
  recall(lane: string, tasks: readonly T[], begun: boolean): void;
}

interface Lane<T extends Task> {
  readonly name: string;
  readonly waiting: T[];
  /** The worker that has the lane, while anything of it is given. */
  worker: Worker<T> | undefined;
  /** Tasks of that worker, oldest first. */
  readonly given: Map<number, T>;
  /** The worker that had the lane last: it may still hold a connection to the site. */
  last: Worker<T> | undefined;
}

interface Load<T extends Task> {
  readonly lanes: Set<Lane<T>>;
  readonly tasks: Map<number, Lane<T>>;
}

/** True if a task must be given to another worker after its own is gone. `begun`: its turn had come. */
type Lost<T extends Task> = (task: T, begun: boolean) => boolean;

export class Distributor<T extends Task> {
  readonly #window: number;
  #ahead = true;
  readonly #lost: Lost<T>;
  readonly #lanes = new Map<string, Lane<T>>();
  readonly #workers = new Map<Worker<T>, Load<T>>();
  /** Lanes that wait for a slot, longest first. */
  #ready: Lane<T>[] = [];
  /** Lanes with a slot in which something waits and there may be room. */
  readonly #hungry = new Set<Lane<T>>();
  #waiting = 0;
  #given = 0;
  #pumping = false;

  /** @param window tasks of one lane at its worker, from 1 */
  constructor(window: number, lost: Lost<T>) {
    this.#window = window;
    this.#lost = lost;
  }

  get waiting(): number {
    return this.#waiting;
  }
  /** Tasks at workers. */
  get given(): number {
    return this.#given;
  }
  /** Number of tasks begun by their workers: one of each lane that has a turn. */
  get begun(): number {
    let lanes = 0;
    for (const load of this.#workers.values()) lanes += load.lanes.size;
    return lanes;
  }
  /** Tasks that workers may have at a time, with all their windows full. */
  get capacity(): number {
    return this.slots * this.#window;
  }
  get lanes(): number {
    return this.#lanes.size;
  }
  get slots(): number {
    let slots = 0;
    for (const worker of this.#workers.keys()) slots += worker.slots;
    return slots;
  }

  add(task: T): void {
    let lane = this.#lanes.get(task.lane);
    if (lane === undefined) {
      lane = { name: task.lane, waiting: [], worker: undefined, given: new Map(), last: undefined };
      this.#lanes.set(task.lane, lane);
    }
    lane.waiting.push(task);
    this.#waiting++;
    if (lane.worker !== undefined) this.#hungry.add(lane);
    else if (lane.waiting.length === 1) this.#ready.push(lane);
    this.pump();
  }

  join(worker: Worker<T>): void {
    this.#workers.set(worker, { lanes: new Set(), tasks: new Map() });
    this.pump();
  }

  /**
   * The worker is gone: what it had is given to others, before anything that waits.
   * @returns the lanes it had
   */
  leave(worker: Worker<T>): string[] {
    const load = this.#workers.get(worker);
    if (load === undefined) return [];
    const lanes = [...load.lanes].map(({ name }) => name);
    this.#workers.delete(worker);
    this.#given -= load.tasks.size;
    const again: Lane<T>[] = [];
    for (const lane of load.lanes) {
      const tasks = [...lane.given.values()];
      lane.given.clear();
      lane.worker = undefined;
      lane.last = undefined;
      this.#hungry.delete(lane);
      const kept = tasks.filter((task, index) => this.#lost(task, index === 0));
      lane.waiting.unshift(...kept);
      this.#waiting += kept.length;
      if (lane.waiting.length > 0) again.push(lane);
      else this.#lanes.delete(lane.name);
    }
    this.#ready = [...again, ...this.#ready];
    this.pump();
    return lanes;
  }

  /** Lanes with tasks, now. */
  laneNames(): string[] {
    return [...this.#lanes.keys()];
  }

  /** The task of that number, if the worker has it. */
  taskOf(worker: Worker<T>, number: number): T | undefined {
    return this.#workers.get(worker)?.tasks.get(number)?.given.get(number);
  }

  /** The worker has done a task; undefined when it had no such task. Room for the next is given by `pump`. */
  finish(worker: Worker<T>, number: number): T | undefined {
    const load = this.#workers.get(worker);
    const lane = load?.tasks.get(number);
    const task = lane?.given.get(number);
    if (load === undefined || lane === undefined || task === undefined) return undefined;
    const wasFirst = firstOf(lane) === task;
    load.tasks.delete(number);
    lane.given.delete(number);
    this.#given--;
    const next = firstOf(lane);
    if (next === undefined) this.#release(lane, load);
    else {
      if (wasFirst) worker.turn(next);
      if (lane.waiting.length > 0) this.#hungry.add(lane);
    }
    return task;
  }

  /** The worker hands back a task it has not begun: it waits again in its place. `pump` chooses the worker
   * that gets it. */
  again(worker: Worker<T>, number: number): void {
    const lane = this.#workers.get(worker)?.tasks.get(number);
    const task = lane?.given.get(number);
    if (lane === undefined || task === undefined) return;
    const at = lane.waiting.findIndex(other => other.number > number);
    lane.waiting.splice(at < 0 ? lane.waiting.length : at, 0, task);
    this.#waiting++;
    this.finish(worker, number);
  }

  /** True if the lane waits for a slot. */
  isStranded(name: string): boolean {
    const lane = this.#lanes.get(name);
    return lane !== undefined && lane.worker === undefined;
  }

  /** Takes out tasks that no worker has, of one lane or of all. */
  withdraw(wanted: (task: T) => boolean, name?: string): T[] {
    const taken: T[] = [];
    for (const lane of this.#chosen(name)) {
      const kept: T[] = [];
      for (const task of lane.waiting) (wanted(task) ? taken : kept).push(task);
      lane.waiting.splice(0, lane.waiting.length, ...kept);
      if (kept.length > 0) continue;
      this.#hungry.delete(lane);
      if (lane.worker === undefined) this.#lanes.delete(lane.name);
    }
    this.#ready = this.#ready.filter(lane => lane.waiting.length > 0);
    this.#waiting -= taken.length;
    return taken;
  }

  /** The same, and has workers hand back what they have not begun of the lanes concerned. */
  recall(wanted: (task: T) => boolean, name?: string, begun = false): T[] {
    const taken = this.withdraw(wanted, name);
    for (const lane of this.#chosen(name)) {
      const given = [...lane.given.values()];
      if (given.some(wanted)) lane.worker?.recall(lane.name, given, begun);
    }
    return taken;
  }

  /**
   * True if tasks are given before their turn; when no longer, workers hand back what waits with them. A
   * worker may be as many answers ahead of what is known here: without, it has not done more than was
   * answered and what has begun.
   */
  giveAhead(ahead: boolean): void {
    if (this.#ahead === ahead) return;
    this.#ahead = ahead;
    for (const lane of this.#lanes.values()) {
      if (lane.worker === undefined) continue;
      if (ahead && lane.waiting.length > 0) this.#hungry.add(lane);
      if (!ahead && lane.given.size > 1) lane.worker.recall(lane.name, [...lane.given.values()], false);
    }
  }

  /** A wanted one among the tasks that the worker has begun, one a lane. */
  turnOf(worker: Worker<T>, wanted: (task: T) => boolean): T | undefined {
    for (const lane of this.#workers.get(worker)?.lanes ?? []) {
      const first = firstOf(lane);
      if (first !== undefined && wanted(first)) return first;
    }
    return undefined;
  }

  /** Gives what waits to free slots and open windows; to be called whenever there may be new ones. */
  pump(): void {
    // A worker may be done before `give` returns; the loop that called it goes on then.
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (this.#takeSlot() || this.#topUp());
    } finally {
      this.#pumping = false;
    }
  }

  #chosen(name: string | undefined): Iterable<Lane<T>> {
    if (name === undefined) return this.#lanes.values();
    const lane = this.#lanes.get(name);
    return lane === undefined ? [] : [lane];
  }

  /** Gives the lane that waited longest a slot; false when none waits or no slot is free. */
  #takeSlot(): boolean {
    const lane = this.#ready[0];
    const worker = lane === undefined ? undefined : this.#choose(lane);
    const load = worker && this.#workers.get(worker);
    if (lane === undefined || worker === undefined || load === undefined) return false;
    this.#ready.shift();
    lane.worker = worker;
    lane.last = worker;
    load.lanes.add(lane);
    this.#fill(lane, worker, load);
    return true;
  }

  /** Fills windows; false when there is nothing to give, or lanes wait for a slot. */
  #topUp(): boolean {
    if (this.#ready.length > 0) return false;
    for (const lane of this.#hungry) {
      this.#hungry.delete(lane);
      const load = lane.worker && this.#workers.get(lane.worker);
      // One that has fewer slots now gives some lanes up.
      if (lane.worker === undefined || load === undefined || this.#freeOf(lane.worker) < 0) continue;
      this.#fill(lane, lane.worker, load);
      return true;
    }
    return false;
  }

  #fill(lane: Lane<T>, worker: Worker<T>, load: Load<T>): void {
    while (lane.given.size < (this.#ahead ? this.#window : 1)) {
      const task = lane.waiting.shift();
      if (task === undefined) return;
      this.#waiting--;
      this.#given++;
      lane.given.set(task.number, task);
      load.tasks.set(task.number, lane);
      if (lane.given.size === 1) worker.turn(task);
      worker.give(task);
      // Done already, it was the last here, and the lane has gone to the end of the queue.
      if (lane.worker !== worker) return;
    }
  }

  /** Takes a lane of which nothing is given any more off its worker. */
  #release(lane: Lane<T>, load: Load<T>): void {
    load.lanes.delete(lane);
    this.#hungry.delete(lane);
    lane.worker = undefined;
    if (lane.waiting.length > 0) this.#ready.push(lane);
    else this.#lanes.delete(lane.name);
  }

  #choose(lane: Lane<T>): Worker<T> | undefined {
    if (lane.last !== undefined && this.#freeOf(lane.last) > 0) return lane.last;
    // The largest share of slots free: work is spread as slots are, also while there is less of it than
    // slots.
    let best: Worker<T> | undefined;
    let bestShare = 0;
    for (const worker of this.#workers.keys()) {
      const share = this.#freeOf(worker) / Math.max(1, worker.slots);
      if (share > bestShare) {
        best = worker;
        bestShare = share;
      }
    }
    return best;
  }

  #freeOf(worker: Worker<T>): number {
    const load = this.#workers.get(worker);
    return load === undefined ? 0 : worker.slots - load.lanes.size;
  }
}

function firstOf<T extends Task>(lane: Lane<T>): T | undefined {
  return lane.given.values().next().value;
}
