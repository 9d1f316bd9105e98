/**
 * A rail: its line, its workers, whether it is up. What its answers mean for a page is carried out here, one
 * case for each outcome; what has to be on disk is told to the ledger.
 *
 * Rails never wait for each other: each has its own line, its own connections and its own place for what it
 * cannot take now.
 */
import type { RailRow } from '../../db/clear/rails.js';
import { backoffMs } from '../../lib/backoff.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import type { RailLimits } from '../options.js';
import { Lag, Slowness } from '../slow-or-delayed.js';
import { RailState } from '../rail-state.js';
import { RailLog } from './rail-log.js';
import { RailQueue } from './rail-queue.js';
import { charsOf, type RailAnswer, type Sender } from './sender.js';
import { TokenBucket } from './token-bucket.js';
import type { BacklogEntry, PageTask, RailUnit, Waiter } from './unit.js';

/** How something is left to the backlog. */
export interface Leaving {
  /** Not tried before, milliseconds since 1970; 0 at once. */
  nextMs: number;
  dead: boolean;
  error: string;
  attempts: number;
}

/** Changes that must be on disk. */
export interface RailLedger {
  /** Other paths under which a cache has a page, too: its folder, other ways to write it. */
  alsoOf(rail: RailRow, url: string): readonly string[];
  /** Number of the last entry of any backlog. */
  lastSeq(): number;
  park(rail: string, task: PageTask, how: Leaving): void;
  /** The page was sent: entries up to that number are done. `entry`: the one that was sent. */
  settle(rail: string, task: PageTask, seq: number, entry: BacklogEntry | undefined): void;
  /** An entry was tried in vain. */
  failed(rail: string, url: string, entry: BacklogEntry, how: Leaving): void;
  /** An entry was not tried. */
  released(rail: string, url: string): void;
  /** Nothing of it is under way. */
  quiet(): void;
  /** The rail was found down. */
  down(rail: Rail, atMs: number, reason: string): void;
}

interface RailParts {
  ledger: RailLedger;
  limits: RailLimits;
  clock: Clock;
  log: Log;
  /** 0 to 1. */
  random: () => number;
}

export class Rail {
  readonly #parts: RailParts;
  readonly #queue: RailQueue;
  readonly #log: RailLog;
  readonly state: RailState;
  readonly slowness: Slowness;
  readonly lag: Lag;
  row: RailRow;
  /** True if its backlog may have entries. */
  hasBacklog = false;
  /** Pages that were cleared or put. */
  doneCount = 0;
  /** Requests that failed, whatever followed. */
  failedCount = 0;
  /** Pages left to the backlog. */
  parkedCount = 0;
  /** The last fault, after which nothing has gone well. */
  lastError = '';
  #sender: Sender;
  #bucket: TokenBucket | undefined;
  #timer: { atMs: number; cancel: () => void } | undefined;
  #isPumping = false;
  #isStopped = false;
  #isClosed = false;

  constructor(row: RailRow, sender: Sender, parts: RailParts) {
    const { limits } = parts;
    this.row = row;
    this.#parts = parts;
    this.#queue = new RailQueue(row.name);
    this.#log = new RailLog(row.name, parts.log, parts.clock);
    this.state = new RailState(row, limits);
    this.slowness = new Slowness(limits.slowWindow, limits.slowMs);
    this.lag = new Lag(limits.delayedPages);
    this.#sender = sender;
    this.#bucket = this.#newBucket(sender);
  }

  get name(): string {
    return this.row.name;
  }

  get isDown(): boolean {
    return this.state.name === 'down';
  }

  /** Pages in its line. */
  get waitingCount(): number {
    return this.#queue.waitingCount;
  }

  /** Pages under way. */
  get sendingCount(): number {
    return this.#queue.executingCount;
  }

  /** Has something done with a page. `waiter` is told once it is, or left to the backlog; maybe before this
   * returns. */
  add(task: PageTask, waiter: Waiter): void {
    const also = this.#parts.ledger.alsoOf(this.row, task.url);
    if (also.length === 0) return this.#add(task, waiter);
    let left = also.length + 1;
    let all: Parameters<Waiter>[0] = 'done';
    for (const url of [task.url, ...also])
      this.#add({ ...task, url }, how => {
        if (how === 'parked') all = how;
        if (--left === 0) waiter(all);
      });
  }

  #add(task: PageTask, waiter: Waiter): void {
    if (this.isDown) {
      this.#leave(task, { nextMs: 0, dead: false, error: this.row.reason, attempts: 0 });
      waiter('parked');
      return;
    }
    this.#queue.add(task, waiter);
    this.#pump();
  }

  /** Does what an entry of its backlog says. */
  replay(task: PageTask, entry: BacklogEntry): void {
    this.#queue.addEntry(task, entry);
    this.#pump();
  }

  /** Goes on over another sender: it was set up in another way. */
  changeSender(sender: Sender): void {
    const old = this.#sender;
    this.#sender = sender;
    this.#bucket = this.#newBucket(sender);
    old.close();
    this.#pump();
  }

  /** Takes the stored row of the rail. @returns the change by it */
  refresh(row: RailRow): 'up' | 'down' | undefined {
    this.row = row;
    const change = this.state.refresh(row);
    if (change !== undefined) this.#log.became(change, row);
    if (change === 'down') this.#leaveAll(row.reason);
    if (change === 'up') this.#pump();
    return change;
  }

  /** Leaves the last `count` pages of its line to its backlog, for others to have room. */
  spill(count: number): void {
    const units = this.#queue.open();
    for (const unit of units.slice(Math.max(0, units.length - count))) this.#park(unit, '');
  }

  /** Sends nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Everything under way is given up, and stays as it is noted. */
  close(): void {
    this.stop();
    this.#isClosed = true;
    this.#sender.close();
  }

  /** The rail is there no more: nobody waits for it any longer. */
  remove(): void {
    this.stop();
    // Units under way come back to the line.
    this.#sender.close();
    for (const unit of this.#queue.open()) {
      this.#queue.park(unit);
      unit.settle('parked');
    }
  }

  #newBucket({ rate }: Sender): TokenBucket | undefined {
    return rate && new TokenBucket(rate, this.#parts.clock.monotonicMs());
  }

  /** Sends as much as may be under way. */
  #pump(): void {
    // A request may be answered before `send` returns.
    if (this.#isPumping) return;
    this.#isPumping = true;
    let nextMs = this.#mayBeginAt();
    for (; nextMs === 0; nextMs = this.#mayBeginAt()) this.#begin();
    this.#isPumping = false;
    this.#wakeAt(nextMs);
  }

  /** When another request may begin, monotonic: 0 now, Infinity when something else has to happen before. */
  #mayBeginAt(): number {
    const { probeAtMs, name } = this.state;
    const most = name === 'suspect' ? 1 : this.row.workers;
    if (this.#isStopped || this.isDown || this.sendingCount >= most) return Infinity;
    const nowMs = this.#parts.clock.monotonicMs();
    if (name === 'suspect' && nowMs < probeAtMs) return probeAtMs;
    if (this.#queue.peek(nowMs) === undefined) return this.#queue.nextDueMs ?? Infinity;
    const waitMs = this.#bucket?.take(nowMs) ?? 0;
    return waitMs === 0 ? 0 : nowMs + waitMs;
  }

  #begin(): void {
    const { clock, ledger } = this.#parts;
    const startedMs = clock.monotonicMs();
    const units = this.#nextTogether(startedMs);
    const seq = this.hasBacklog ? ledger.lastSeq() : 0;
    // A page that is put is as new as its publication: an entry that was left for a newer one stays.
    for (const unit of units) unit.coveredSeq = unit.task.body?.seq ?? Math.max(seq, unit.entry?.seq ?? 0);
    this.#sender.send(
      units.map(({ task }) => task),
      answer => this.#heard(units, startedMs, answer),
    );
  }

  /** Units of one request: one page, or as many as the rail takes. */
  #nextTogether(nowMs: number): RailUnit[] {
    const first = this.#queue.next(nowMs);
    if (first === undefined) return [];
    const way = first.isAlone ? undefined : this.#sender.batchOf(first.task);
    const units = [first];
    if (way?.most === undefined) return units;
    let chars = charsOf(way, first.task);
    while (units.length < way.most.pages) {
      const unit = this.#queue.peek(nowMs);
      if (unit === undefined || unit.isAlone || this.#sender.batchOf(unit.task) !== way) break;
      chars += charsOf(way, unit.task);
      if (chars > way.most.chars) break;
      this.#queue.next(nowMs);
      units.push(unit);
    }
    return units;
  }

  #heard(units: readonly RailUnit[], startedMs: number, { outcome, isAnswered, tookMs }: RailAnswer): void {
    if (this.#isClosed) return;
    const { clock } = this.#parts;
    if (isAnswered) this.state.answered();
    this.#log.mark('SLOW', this.slowness.add(tookMs), { mean_ms: this.slowness.meanMs });
    if (outcome.kind === 'done') {
      step('clear.page.sent');
      this.lastError = '';
    } else {
      this.failedCount++;
      this.lastError = outcome.error;
      this.#log.failed(units[0]?.url, outcome.kind, outcome.error);
    }
    let change: 'suspect' | 'down' | undefined;
    if (outcome.kind === 'unreachable') change = this.state.unreachable(startedMs, clock.monotonicMs());
    if (outcome.kind === 'unanswered') change = this.state.unanswered();
    for (const unit of units) this.#settle(unit, outcome, units.length);
    if (change === 'down') this.#goDown(outcome.kind === 'done' ? '' : outcome.error);
    this.#pump();
    if (this.sendingCount === 0) this.#parts.ledger.quiet();
  }

  #settle(unit: RailUnit, outcome: RailAnswer['outcome'], together: number): void {
    const { limits, clock } = this.#parts;
    switch (outcome.kind) {
      case 'done':
        return this.#done(unit);
      case 'retry':
      case 'unanswered':
      case 'no-folder':
        return this.#tryAgain(unit, outcome);
      case 'config':
        this.#log.refuses(outcome.error);
        unit.tries++;
        return this.#park(unit, outcome.error, { nextMs: clock.nowMs() + limits.backlogRetryMs });
      case 'dead':
        // One page of many may be what the rail does not take.
        if (together > 1) {
          unit.isAlone = true;
          return this.#queue.again(unit);
        }
        unit.tries++;
        return this.#park(unit, outcome.error, { dead: true });
      case 'unreachable':
        unit.tries++;
        return this.isDown ? this.#park(unit, outcome.error) : this.#queue.again(unit);
    }
  }

  #done(unit: RailUnit): void {
    const { ledger, limits, clock } = this.#parts;
    unit.tries = 0;
    unit.sent++;
    if (limits.reboundMs > 0 && unit.task.op === 'D' && unit.sent < 2 && !this.isDown) {
      this.#queue.rest(unit, clock.monotonicMs() + limits.reboundMs, 'rebounding');
      return;
    }
    this.doneCount++;
    this.#queue.done(unit);
    if (unit.coveredSeq > 0) ledger.settle(this.name, unit.task, unit.coveredSeq, unit.entry);
    unit.settle('done');
  }

  #tryAgain(unit: RailUnit, { error, afterMs }: { error: string; afterMs?: number }): void {
    const { limits, clock, random } = this.#parts;
    unit.tries++;
    const isFromBacklog = unit.entry !== undefined && unit.waiters.length === 0;
    if (this.isDown) return this.#park(unit, error);
    if (isFromBacklog || unit.tries >= limits.parkAfter) {
      const nextMs = clock.nowMs() + Math.max(limits.backlogRetryMs, afterMs ?? 0);
      return this.#park(unit, error, { nextMs });
    }
    const waitMs = Math.max(afterMs ?? 0, backoffMs(limits.backoff, unit.tries, random()));
    this.#queue.rest(unit, clock.monotonicMs() + waitMs);
  }

  /** Nothing more is done with it from here: what waits for it goes on. */
  #park(unit: RailUnit, error: string, { nextMs = 0, dead = false } = {}): void {
    const { ledger } = this.#parts;
    const { entry, url } = unit;
    const how: Leaving = { nextMs, dead, error, attempts: unit.tries };
    const wasSent = unit.state === 'executing';
    this.#queue.park(unit);
    if (entry === undefined || unit.waiters.length > 0) {
      this.#leave(unit.task, how);
      if (entry !== undefined) ledger.released(this.name, url);
    } else if (wasSent) ledger.failed(this.name, url, entry, how);
    else ledger.released(this.name, url);
    unit.settle('parked');
  }

  #leave(task: PageTask, how: Leaving): void {
    this.hasBacklog = true;
    this.parkedCount++;
    this.#parts.ledger.park(this.name, task, how);
  }

  #leaveAll(error: string): void {
    for (const unit of this.#queue.open()) this.#park(unit, error);
  }

  #goDown(reason: string): void {
    const { clock, ledger } = this.#parts;
    const atMs = Math.max(clock.nowMs(), this.state.changedMs + 1);
    this.state.noted(atMs);
    this.row = { ...this.row, state: 'DOWN', changeTimeMs: atMs, changedBy: 'cachebot', reason };
    this.#log.foundDown(reason);
    ledger.down(this, atMs, reason);
    this.#leaveAll(reason);
  }

  /** Says how many pages wait for the best rail of its target. */
  compare(least: number | undefined): void {
    this.#log.mark('DELAYED', this.lag.look(this.waitingCount, least), { waiting: this.waitingCount, least });
  }

  #wakeAt(atMs: number): void {
    if (this.#timer?.atMs === atMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (atMs === Infinity) return;
    const { clock } = this.#parts;
    const cancel = clock.after(Math.max(0, atMs - clock.monotonicMs()), () => {
      this.#timer = undefined;
      this.#pump();
    });
    this.#timer = { atMs, cancel };
  }
}
