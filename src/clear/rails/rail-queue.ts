/** Pages that one rail will be sent: every page at most once in the line, and at most once under way. It
 * sends nothing and knows no clock; units (unit.ts) say in which state each of them is. */
import { DueQueue } from '../../lib/due-queue.js';
import { Fifo } from '../../lib/fifo.js';
import { RailUnit, type BacklogEntry, type PageTask, type Waiter } from './unit.js';

export class RailQueue {
  readonly #rail: string;
  /** By url: what has not begun, or will begin again. Later tasks join it. */
  readonly #open = new Map<string, RailUnit>();
  readonly #executing = new Map<string, RailUnit>();
  /** Units that were waiting when they were put there; some may be elsewhere by now. */
  readonly #line = new Fifo<RailUnit>();
  /** The first of the line, looked at and not taken yet. */
  #head: RailUnit | undefined;
  readonly #due = new DueQueue<RailUnit>();

  constructor(rail: string) {
    this.#rail = rail;
  }

  /** Units that have not begun, or will begin again. */
  get waitingCount(): number {
    return this.#open.size;
  }

  get executingCount(): number {
    return this.#executing.size;
  }

  /** When the first of those that rest is due; undefined when none does. */
  get nextDueMs(): number | undefined {
    return this.#due.nextMs;
  }

  /** Adds what is to be done with a page. */
  add(task: PageTask, waiter?: Waiter): RailUnit {
    const unit = this.#unitFor(task);
    if (waiter !== undefined) unit.waiters.push(waiter);
    return unit;
  }

  /** Adds an entry of the backlog. What is to be done with the page anyway counts for it, too; one that is
   * older than the page under way is settled or left by that. */
  addEntry(task: PageTask, entry: BacklogEntry): RailUnit {
    const open = this.#open.get(task.url);
    const running = this.#executing.get(task.url);
    if (open === undefined && running !== undefined && isNewerPage(running.task, entry.seq)) return running;
    // A page that was left for the rail may be newer than the one that waits.
    if (open?.task.op === task.op) open.join(task);
    const unit = open ?? this.#unitFor(task);
    unit.entry = entry;
    return unit;
  }

  /** The unit that is next; undefined when all that is there waits for its time. */
  peek(nowMs: number): RailUnit | undefined {
    this.#wake(nowMs);
    while (this.#head === undefined || !this.#isWaiting(this.#head)) {
      this.#head = this.#line.shift();
      if (this.#head === undefined) return undefined;
    }
    return this.#head;
  }

  /** Takes the unit that is next: it is under way from now on. */
  next(nowMs: number): RailUnit | undefined {
    const unit = this.peek(nowMs);
    this.#head = undefined;
    if (unit === undefined) return undefined;
    unit.become('executing');
    this.#open.delete(unit.url);
    this.#executing.set(unit.url, unit);
    return unit;
  }

  /** The request of a unit is over, and nothing more must be done. */
  done(unit: RailUnit): void {
    unit.become('done');
    this.#leave(unit);
  }

  /** The unit is left to the backlog of the rail. */
  park(unit: RailUnit): void {
    const isExecuting = unit.state === 'executing';
    unit.become('parked');
    if (isExecuting) this.#leave(unit);
    else this.#open.delete(unit.url);
  }

  /** The unit will be sent again at once. */
  again(unit: RailUnit): void {
    this.#reopen(unit, () => {
      unit.become('waiting');
      this.#line.push(unit);
    });
  }

  /** The unit will be sent again, not before `dueMs`. */
  rest(unit: RailUnit, dueMs: number, state: 'resting' | 'rebounding' = 'resting'): void {
    this.#reopen(unit, () => {
      unit.become(state);
      this.#due.push(dueMs, unit);
    });
  }

  /** All that is not under way, in the order in which it would have been sent. */
  open(): RailUnit[] {
    return [...this.#open.values()];
  }

  #unitFor(task: PageTask): RailUnit {
    const { url } = task;
    const open = this.#open.get(url);
    if (open !== undefined) {
      open.join(task);
      // Work done to the page before does not count for what is wanted of it now.
      if (open.state === 'rebounding') {
        open.sent = 0;
        open.become('waiting');
        this.#line.push(open);
      }
      return open;
    }
    const isBlocked = this.#executing.has(url);
    const unit = new RailUnit(this.#rail, task, isBlocked ? 'blocked' : 'waiting');
    this.#open.set(url, unit);
    if (!isBlocked) this.#line.push(unit);
    return unit;
  }

  #isWaiting(unit: RailUnit): boolean {
    return unit.state === 'waiting' && this.#open.get(unit.url) === unit;
  }

  /** The unit is not under way any more: another one for the same page may go. */
  #leave(unit: RailUnit): void {
    this.#executing.delete(unit.url);
    const blocked = this.#open.get(unit.url);
    if (blocked?.state !== 'blocked') return;
    blocked.become('waiting');
    this.#line.push(blocked);
  }

  /** Back among those that wait; or, where a later one for the page waits, into that. */
  #reopen(unit: RailUnit, put: () => void): void {
    const later = this.#open.get(unit.url);
    if (later === undefined) {
      this.#executing.delete(unit.url);
      this.#open.set(unit.url, unit);
      put();
      return;
    }
    later.waiters.unshift(...unit.waiters);
    later.tries = Math.max(later.tries, unit.tries);
    later.entry ??= unit.entry;
    unit.waiters = [];
    unit.become('merged');
    this.#leave(unit);
  }

  #wake(nowMs: number): void {
    for (let unit = this.#due.shift(nowMs); unit !== undefined; unit = this.#due.shift(nowMs)) {
      // The unit may have been parked, or wanted again and even have rested again, since.
      if (this.#open.get(unit.url) !== unit || (unit.state !== 'resting' && unit.state !== 'rebounding'))
        continue;
      unit.become('waiting');
      this.#line.push(unit);
    }
  }
}

/** True if what is put was published after the entry. */
function isNewerPage({ body }: PageTask, seq: number): boolean {
  return body !== undefined && body.seq >= seq;
}
