/**
 * Which hours it is, and the rows that wait for them. The wall clock is asked again before anything is sent and at least
 * once a minute: that it jumped, or changed to summer time, needs nothing else. When a slot begins, its parts of sets are
 * put back together in slices, each a transaction; nothing is taken of their providers meanwhile, so that order is kept.
 *
 * What has begun while no Queue Manager ran, or while a clock stood still, is made up for from the moment noted last.
 * Where that cannot be known (a clock set back to another hour, a period of other slots, a provider's hours changed) all
 * that waits is put back, and split off again at its turn.
 */
import type { Outcome } from '../db/queue/results.js';
import { NOW_SLOT, type WaitingSet } from '../db/queue/sets.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Clock } from '../lib/clock.js';
import { step } from '../lib/steps.js';
import { SparingCount } from './sparing-count.js';
import { hourEndMs, nextSlot, permits, slotOf, slotsBegun, type Hours, type Slots } from '../config/hours.js';

export interface TimeSlotsOptions {
  store: QueueStore;
  clock: Clock;
  slots: Slots;
  /** Sets of the provider begin or cease to be put together: nothing may be taken of them meanwhile. */
  holding: (pid: number, holding: boolean) => void;
  /** Rows are back in the set: those at `places`, or, when they are too many to name, some behind the first of them. */
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
/** A part costs as much as so many rows, and there may be one for each url. */
const PART_ROWS = 3;
const RETRY_MS = 1000;

/** A row that was taken. */
interface Taken {
  pos: number;
  gen: number;
  pid: number;
  set: WaitingSet;
}

interface Job {
  part: WaitingSet;
  /** The first place of those joined, when there was more than one slice. */
  first: number | undefined;
}

/** What a transaction did for a job. */
interface Joined {
  key: string;
  job: Job;
  places: number[];
  isOver: boolean;
}

export class TimeSlots {
  readonly #options: TimeSlotsOptions;
  readonly #jobs = new Map<string, Job>();
  /** By provider: how many of its parts are being joined. */
  readonly #joining = new Map<number, number>();
  /** Masks of the providers with rows that wait for a slot. */
  readonly #masks = new Map<number, string>();
  #slot = NOW_SLOT;
  /** The slot in CLOSING_MS. */
  #soon = NOW_SLOT;
  #lookedMs = 0;
  #nextMs = 0;
  #noted = true;
  #running = false;
  #stopped = false;
  readonly #later: SparingCount;

  constructor(options: TimeSlotsOptions) {
    this.#options = options;
    this.#later = new SparingCount(options.clock, () => options.store.slots.rows());
  }

  /** Takes up what began while nobody looked. */
  start(): void {
    const { store, clock, slots } = this.#options;
    const nowMs = clock.nowMs();
    const last = store.slots.lastLook();
    const later = store.slots.later();
    for (const { pid } of later) this.#masks.set(pid, this.#maskOf(pid));
    this.#see(nowMs);
    this.#noted = false;
    const begun = new Set(last === undefined ? [] : slotsBegun(last.atMs, nowMs, slots)).add(this.#slot);
    const isOther = last !== undefined && last.slots !== slots;
    this.#join(later.filter(({ slot }) => isOther || begun.has(slot)));
    this.resubmitted();
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
      this.#join(
        begun.length === slots ? store.slots.later() : begun.flatMap(slot => store.slots.parts(slot)),
      );
    }
    return changed;
  }

  /** Time from now after which it is to be asked again. */
  nextLookMs(): number {
    return Math.max(1, this.#nextMs - this.#options.clock.nowMs());
  }

  /** Whether the hours include the present. */
  permits(hours: Hours): boolean {
    return permits(hours, this.#slot) && permits(hours, this.#soon);
  }

  isJoining(pid: number): boolean {
    return this.#joining.has(pid);
  }

  /** Whether anything is being put together. */
  get isBusy(): boolean {
    return this.#jobs.size > 0;
  }

  /** Rows that wait for a slot, as they were counted lately. */
  get rows(): number {
    return this.#later.value;
  }

  /** Urls that waited for a slot may have been submitted again. */
  resubmitted(): void {
    this.#join(this.#options.store.slots.resubmitted());
  }

  /** Providers may have other hours now. */
  reload(): void {
    const { store } = this.#options;
    for (const [pid, mask] of this.#masks) {
      const now = this.#maskOf(pid);
      if (now === mask) continue;
      this.#masks.delete(pid);
      this.#join(store.slots.later(pid));
    }
  }

  /** A row whose hours did not permit it when it was taken waits for its slot. Inside a transaction. */
  postpone(taken: Taken, hours: Hours): Outcome {
    // Its slot may have begun since: nobody would look for it there before it comes again.
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

  #maskOf(pid: number): string {
    return this.#options.store.providers.get(pid)?.timeofday ?? '';
  }

  #join(parts: readonly WaitingSet[]): void {
    for (const part of parts) {
      const key = `${part.psetid}/${part.slot}`;
      if (this.#jobs.has(key)) continue;
      this.#jobs.set(key, { part, first: undefined });
      const jobs = this.#joining.get(part.pid) ?? 0;
      this.#joining.set(part.pid, jobs + 1);
      if (jobs === 0) this.#options.holding(part.pid, true);
    }
    this.#run();
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
      store.transaction(() => store.slots.setLastLook({ atMs: this.#lookedMs, slots }));
      this.#noted = true;
      return;
    }
    const some = store.transaction(() => this.#joinSome());
    step('qm.slot.joined');
    this.#later.forget();
    for (const one of some) this.#tell(one);
  }

  #joinSome(): Joined[] {
    const some: Joined[] = [];
    let room = JOIN_ROWS;
    for (const [key, job] of this.#jobs) {
      const places = this.#options.store.slots.join(job.part, room);
      some.push({ key, job, places, isOver: places.length < room });
      room -= places.length + PART_ROWS;
      if (room <= 0) break;
    }
    return some;
  }

  #tell({ key, job, places, isOver }: Joined): void {
    const { joined, holding } = this.#options;
    const { part } = job;
    const first = job.first ?? places[0];
    if (!isOver) {
      job.first = first;
      return;
    }
    this.#jobs.delete(key);
    if (first !== undefined) {
      const areAll = job.first === undefined;
      joined({ ...part, slot: NOW_SLOT }, areAll ? places : [first], areAll);
    }
    const jobs = (this.#joining.get(part.pid) ?? 1) - 1;
    if (jobs > 0) {
      this.#joining.set(part.pid, jobs);
    } else {
      this.#joining.delete(part.pid);
      holding(part.pid, false);
    }
  }
}
