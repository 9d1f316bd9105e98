/**
 * Which hours it is, and the rows that wait for them. The wall clock is asked again before anything is sent
 * and at least once a minute: that it jumped, or changed to summer time, needs nothing else. When a slot
 * begins, its parts of sets are put back together in slices, each a transaction; nothing is taken of their
 * providers meanwhile, so that order is kept.
 *
 * What has begun while no Queue Manager ran, or while a clock stood still, is made up for from the moment
 * noted last. Where that cannot be known (a clock set back to another hour, a period of other slots, another
 * time zone, a provider's hours changed) all that waits is put back, and split off again at its turn.
 */
import type { Outcome } from '../db/queue/results.js';
import { NOW_SLOT, type WaitingSet } from '../db/queue/sets.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Clock } from '../lib/clock.js';
import { step } from '../lib/steps.js';
import { sparingCount } from './sparing-count.js';
import {
  hourEndMs,
  nextSlot,
  permits,
  slotOf,
  slotsBegun,
  zoneOffsets,
  type Hours,
  type Slots,
} from '../config/hours.js';

export interface TimeSlotsOptions {
  store: QueueStore;
  clock: Clock;
  slots: Slots;
  /** Sets of the provider begin or cease to be put together: nothing may be taken of them meanwhile. */
  holding: (pid: number, holding: boolean) => void;
  /** Rows are back in the set: those at `places`, or, when they are too many to name, some after the first of
   * them. */
  joined: (set: WaitingSet, places: readonly number[], areAll: boolean) => void;
  /** A transaction failed; true: try again later. */
  failed: (error: unknown) => boolean;
}

/** Longest time between two looks at the wall clock. */
const LOOK_MS = 60_000;
/** Hours end a moment early: what is on its way to a robot must be back in time. */
const CLOSING_MS = 1000;
/** Rows put back in one transaction. */
const JOIN_ROWS = 1000;
/** Sets with urls that were submitted again for which providers are held at once. */
const RESUBMITTED_SETS = 256;
/** Cost of a part, in rows; there may be one part for each url. */
const PART_ROWS = 3;
/** Transactions in a row for one job: a million parts of one provider are no reason for the others to wait
 * for longer. */
const TURN = 8;
const RETRY_MS = 1000;

/** A row that was taken. */
interface Taken {
  pos: number;
  gen: number;
  pid: number;
  set: WaitingSet;
}

/** Parts of sets that are being joined, in their order; where they are, in the database. */
interface Job {
  key: string;
  /** Parts after the set `afterPsetid`, fewer than `limit` only when there are no more. */
  next: (afterPsetid: number, limit: number) => WaitingSet[];
  /** The last set with its part joined. */
  afterPsetid: number;
  /** A part of which some rows are joined, and the first place of those. */
  begun: { part: WaitingSet; first: number | undefined } | undefined;
  /** Providers that fetch nothing until it is over. */
  holds: Set<number>;
  transactions: number;
}

/** Outcome of a transaction for a part. */
interface Joined {
  part: WaitingSet;
  places: number[];
  isOver: boolean;
}

/** And for a job. */
interface Progress {
  job: Job;
  joined: Joined[];
  /** No part is left. */
  isOver: boolean;
}

export class TimeSlots {
  readonly #options: TimeSlotsOptions;
  readonly #jobs = new Map<string, Job>();
  /** By provider: how many jobs hold it. */
  readonly #joining = new Map<number, number>();
  /** Masks of the providers with rows that wait for a slot. */
  readonly #masks = new Map<number, string>();
  #slot = NOW_SLOT;
  /** The slot in CLOSING_MS. */
  #soon = NOW_SLOT;
  #lookedMs = 0;
  #nextMs = 0;
  #noted = true;
  /** See LastLook; what the parts in the database were split off by, or are being put back for. */
  #basis = '';
  #running = false;
  #stopped = false;
  readonly #later: ReturnType<typeof sparingCount>;

  constructor(options: TimeSlotsOptions) {
    this.#options = options;
    this.#later = sparingCount(options.clock, () => options.store.slots.rows());
  }

  /** Takes up what began while nobody looked. */
  start(): void {
    const { store, clock, slots } = this.#options;
    const nowMs = clock.nowMs();
    const last = store.slots.lastLook();
    this.#see(nowMs);
    this.#noted = false;
    this.#basis = this.#basisNow();
    // safeguard: what began while nobody looked
    const begun = new Set(last === undefined ? [] : slotsBegun(last.atMs, nowMs, slots)).add(this.#slot);
    const isOther = last?.slots !== slots || last.basis !== this.#basis;
    for (const slot of store.slots.slots()) {
      for (const pid of store.slots.providers(slot)) {
        // safeguard: knowing the masks by which rows wait, after a restart
        if (!this.#masks.has(pid)) this.#masks.set(pid, this.#maskOf(pid));
        // safeguard: putting urls back when their hour comes
        if (isOther || begun.has(slot)) this.#join(slot, pid);
      }
    }
    this.resubmitted();
    this.#run();
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Asks the wall clock. @returns whether what is permitted may have changed */
  look(): boolean {
    const { store, clock, slots } = this.#options;
    const nowMs = clock.nowMs();
    if (nowMs >= this.#lookedMs && nowMs < this.#nextMs) return false;
    const begun = slotsBegun(this.#lookedMs, nowMs, slots);
    const changed = this.#see(nowMs);
    if (begun.length > 0) {
      this.#noted = false;
      // safeguard: putting urls back when their hour comes
      for (const slot of begun.length === slots ? store.slots.slots() : begun)
        for (const pid of store.slots.providers(slot)) this.#join(slot, pid);
      this.#run();
    }
    return changed;
  }

  /** Time from now until the next look at the slots is due. */
  nextLookMs(): number {
    return Math.max(1, this.#nextMs - this.#options.clock.nowMs());
  }

  /** True if the hours include the present. */
  permits(hours: Hours): boolean {
    return permits(hours, this.#slot) && permits(hours, this.#soon);
  }

  isJoining(pid: number): boolean {
    return this.#joining.has(pid);
  }

  /** True if anything is being put together. */
  get isBusy(): boolean {
    return this.#jobs.size > 0;
  }

  /** Rows that wait for a slot, as they were counted lately. */
  get rows(): number {
    return this.#later.value;
  }

  /** Urls that waited for a slot may have been submitted again. */
  resubmitted(): void {
    const { slots } = this.#options.store;
    const next = (afterPsetid: number, limit: number) => slots.resubmitted(afterPsetid, limit);
    // safeguard: looking at hours again that were submitted again
    const parts = next(0, RESUBMITTED_SETS);
    if (parts.length === 0) return;
    const job = this.#begin('resubmitted', next);
    for (const { pid } of parts) this.#hold(job, pid);
    this.#run();
  }

  /** Providers may have other hours now. */
  reload(): void {
    const { store } = this.#options;
    for (const [pid, mask] of this.#masks) {
      const now = this.#maskOf(pid);
      if (now === mask) continue;
      this.#masks.delete(pid);
      for (const slot of store.slots.slotsOf(pid)) this.#join(slot, pid);
    }
    const basis = this.#basisNow();
    if (basis !== this.#basis) this.#noted = false;
    this.#basis = basis;
    this.#run();
  }

  /** A row that its hours did not permit when it was taken waits for its slot. Inside a transaction. */
  postpone(taken: Taken, hours: Hours): Outcome {
    // The slot may have begun since: nobody would look for it there before it comes again.
    if (this.permits(hours)) return 'again';
    const { store, slots } = this.#options;
    if (!this.#masks.has(taken.pid)) this.#masks.set(taken.pid, this.#maskOf(taken.pid));
    this.#later.forget();
    return store.slots.postpone(taken, nextSlot(hours, this.#slot, slots)) ? 'done' : 'again';
  }

  #see(nowMs: number): boolean {
    const { slots } = this.#options;
    const slot = slotOf(nowMs, slots);
    const soon = slotOf(nowMs + CLOSING_MS, slots);
    const changed = slot !== this.#slot || soon !== this.#soon;
    this.#slot = slot;
    this.#soon = soon;
    this.#lookedMs = nowMs;
    const endMs = hourEndMs(nowMs);
    const closingMs = endMs - CLOSING_MS;
    this.#nextMs = Math.min(nowMs + LOOK_MS, closingMs > nowMs ? closingMs : endMs);
    return changed;
  }

  #basisNow(): string {
    return `${zoneOffsets()}/${this.#options.store.slots.hoursSum()}`;
  }

  #maskOf(pid: number): string {
    return this.#options.store.providers.get(pid)?.timeofday ?? '';
  }

  /** Begins to join the parts of a provider that wait for a slot. */
  #join(slot: number, pid: number): void {
    const { slots } = this.#options.store;
    const job = this.#begin(`${slot}/${pid}`, (afterPsetid, limit) =>
      slots.parts(slot, pid, afterPsetid, limit),
    );
    this.#hold(job, pid);
  }

  #begin(key: string, next: Job['next']): Job {
    const holds = new Set<number>();
    const fresh: Job = { key, next, afterPsetid: 0, begun: undefined, holds, transactions: 0 };
    const job = this.#jobs.get(key) ?? fresh;
    // A job that is under way starts at the first set again: more parts may have come since.
    job.afterPsetid = 0;
    this.#jobs.set(key, job);
    return job;
  }

  #hold({ holds }: Job, pid: number): void {
    if (holds.has(pid)) return;
    holds.add(pid);
    const jobs = this.#joining.get(pid) ?? 0;
    this.#joining.set(pid, jobs + 1);
    if (jobs === 0) this.#options.holding(pid, true);
  }

  #release({ holds }: Job): void {
    for (const pid of holds) {
      const jobs = (this.#joining.get(pid) ?? 1) - 1;
      if (jobs > 0) {
        this.#joining.set(pid, jobs);
      } else {
        this.#joining.delete(pid);
        this.#options.holding(pid, false);
      }
    }
  }

  #run(): void {
    if (this.#running || this.#stopped || (this.#jobs.size === 0 && this.#noted)) return;
    this.#running = true;
    setImmediate(() => {
      this.#running = false;
      if (this.#stopped) return;
      try {
        this.#slice();
        this.#run();
      } catch (error) {
        if (this.#options.failed(error)) this.#options.clock.after(RETRY_MS, () => this.#run());
      }
    });
  }

  #slice(): void {
    const { store, slots } = this.#options;
    if (this.#jobs.size === 0) {
      // All that had begun then is done.
      const look = { atMs: this.#lookedMs, slots, basis: this.#basis };
      store.transaction(() => store.slots.setLastLook(look));
      this.#noted = true;
      return;
    }
    const some = store.transaction(() => this.#joinSome());
    step('qm.slot.joined');
    this.#later.forget();
    for (const one of some) this.#tell(one);
  }

  /** Nothing is changed here but the database: the transaction may fail. */
  #joinSome(): Progress[] {
    const some: Progress[] = [];
    let room = JOIN_ROWS;
    for (const job of this.#jobs.values()) {
      if (room <= 0) break;
      const limit = Math.ceil(room / PART_ROWS);
      const parts = job.begun === undefined ? job.next(job.afterPsetid, limit) : [job.begun.part];
      const joined: Joined[] = [];
      for (const part of parts) {
        if (room <= 0) break;
        const places = this.#options.store.slots.join(part, room);
        joined.push({ part, places, isOver: places.length < room });
        room -= places.length + PART_ROWS;
      }
      const areAll = parts.length < limit && joined.length === parts.length;
      some.push({
        job,
        joined,
        isOver: job.begun === undefined && areAll && joined.at(-1)?.isOver !== false,
      });
    }
    return some;
  }

  #tell({ job, joined, isOver }: Progress): void {
    for (const { part } of joined) this.#hold(job, part.pid);
    for (const one of joined) this.#tellOf(job, one);
    const isTurnOver = ++job.transactions % TURN === 0;
    if (isOver || isTurnOver) this.#jobs.delete(job.key);
    if (isOver) this.#release(job);
    else this.#jobs.set(job.key, job);
  }

  #tellOf(job: Job, { part, places, isOver }: Joined): void {
    const begun = job.begun;
    // Begun rows were counted then; the job may have been sent back to its beginning since.
    if (begun === undefined) job.afterPsetid = part.psetid;
    const first = begun?.first ?? places[0];
    job.begun = isOver ? undefined : { part, first };
    if (!isOver || first === undefined) return;
    const areAll = begun?.first === undefined;
    this.#options.joined({ ...part, slot: NOW_SLOT }, areAll ? places : [first], areAll);
  }
}
