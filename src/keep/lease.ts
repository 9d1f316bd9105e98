/**
 * The lease of a home: one machine has it, and says so again and again; the others look, and take it when it
 * stood still for long by their own clock. No clock is compared with another.
 *
 *     standby ──stands still, or is free──▶ claiming ──the engine says yes──▶ owner ──another has it──▶ lost
 *        ▲                                      │                               ╰──release()──▶ released
 *        ╰──the owner was heard, another won────╯
 *     standby ──this machine had it when its keeper was killed──▶ owner
 */
import type { LeaseLook, LeaseRows } from '../db/engine/lease-rows.js';
import { pause, within, type Clock } from '../lib/clock.js';
import { transitions, type StateOf } from '../lib/states.js';
import { step } from '../lib/steps.js';

/** Statements of the engine. */
export type LeaseStatements = Pick<LeaseRows, 'beat' | 'look' | 'lookSynced' | 'claim' | 'free'>;

/**
 * How fit this machine is to have the home: it has a copy of all that the engine has (`complete`), or yet has
 * to make one (`partial`), or cannot serve it (`unfit`: nothing to copy yet, or a program that is too old).
 */
export type Fitness = 'complete' | 'partial' | 'unfit';

export interface LeaseOptions {
  statements: LeaseStatements;
  clock: Clock;
  beatMs: number;
  leaseMs: number;
  fitness: () => Fitness;
  /** Called with each good beat, and whenever another owner is seen. */
  changed: () => void;
}

const become = transitions('lease', {
  standby: ['claiming', 'owner'],
  claiming: ['standby', 'owner'],
  owner: ['lost', 'released'],
  lost: [],
  released: [],
});

type LeaseState = StateOf<typeof become>;

const LOOK_MS = 250;
/** A look that takes longer says nothing. */
const ANSWER_MS = 500;
/** More time: for an owner while the engine fails over, for a machine with a complete copy before others. */
const GRACE_MS = 1000;
/** Part of the lease in which the owner is surely alone. */
const HELD = 0.6;

export class HomeLease {
  readonly #options: LeaseOptions;
  #state: LeaseState = 'standby';
  epoch = 0;
  /** The owner as last seen; '' for none. */
  owner = '';
  /** Surely held until then, by the clock; of an owner. */
  untilMs = -Infinity;
  /** When the owner was last heard to have beaten. */
  beatMs: number | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  get state(): LeaseState {
    return this.#state;
  }

  /** Looks until the home is this machine's. Throws only when it is stopped, or the home is gone. */
  async win(stop: AbortSignal): Promise<void> {
    const { clock, leaseMs, fitness } = this.#options;
    /** The lease as it has been since then, every look answered. */
    let still: { look: LeaseLook; sinceMs: number } | undefined;
    while (!stop.aborted) {
      const askedMs = clock.monotonicMs();
      const look = await this.#look(stop);
      if (look === undefined) still = undefined;
      else if (still === undefined || !isSame(still.look, look)) {
        still = { look, sinceMs: clock.monotonicMs() };
        this.beatMs = still.sinceMs;
        this.#saw(look);
      }
      if (still !== undefined && fitness() !== 'unfit') {
        const waitMs = (still.look.owner === '' ? 0 : leaseMs) + (fitness() === 'complete' ? 0 : GRACE_MS);
        const isDue = waitMs === 0 || askedMs - still.sinceMs >= waitMs;
        if (isDue && (await this.#claim(still.look, stop))) return;
        if (isDue) still = undefined;
      }
      await pause(clock, LOOK_MS - (clock.monotonicMs() - askedMs), stop);
    }
  }

  /**
   * Goes on as the owner that this machine was when its keeper ended: the lock of the home says that nobody
   * else does.
   * @returns false: another has it meanwhile
   */
  async resume({ epoch, owner }: LeaseLook, stop: AbortSignal): Promise<boolean> {
    this.owner = owner;
    if (!(await this.#beat(epoch, stop))) return false;
    this.#own(epoch);
    return true;
  }

  /**
   * The same for a home that does not know that it was the owner: another one of this machine may be.
   * @returns `beats`: that one is at work
   */
  async takeBack(seen: LeaseLook, stop: AbortSignal): Promise<'taken' | 'lost' | 'beats'> {
    const { statements, clock, leaseMs } = this.#options;
    this.owner = seen.owner;
    await pause(clock, leaseMs, stop);
    const now = await statements.lookSynced(stop);
    if (now?.owner !== seen.owner) return 'lost';
    if (!isSame(now, seen)) return 'beats';
    return (await this.#claim(now, stop)) ? 'taken' : 'lost';
  }

  /** Beats until another has the home: then it is lost. */
  async hold(stop: AbortSignal): Promise<void> {
    const { clock, beatMs } = this.#options;
    while (!stop.aborted && this.#state === 'owner') {
      const begunMs = clock.monotonicMs();
      if (!(await this.#beat(this.epoch, stop))) {
        this.#state = become(this.#state, 'lost');
        return;
      }
      await pause(clock, beatMs - (clock.monotonicMs() - begunMs), stop);
    }
  }

  /** Gives the home up: all is shipped, and nobody works on it any more. */
  async release(stop: AbortSignal): Promise<void> {
    await this.#options.statements.free(this.epoch, stop);
    step('keep.released');
    this.#state = become(this.#state, 'released');
    this.owner = '';
    this.untilMs = -Infinity;
  }

  async #claim(seen: LeaseLook, stop: AbortSignal): Promise<boolean> {
    const { statements, clock } = this.#options;
    this.#state = become(this.#state, 'claiming');
    const askedMs = clock.monotonicMs();
    let now = await statements.lookSynced(stop);
    if (clock.monotonicMs() - askedMs > ANSWER_MS && seen.owner !== '') {
      // The engine was failing over: so perhaps was the owner.
      await pause(clock, GRACE_MS, stop);
      now = await statements.lookSynced(stop);
    }
    const sentMs = clock.monotonicMs();
    const epoch =
      now === undefined || !isSame(now, seen) || stop.aborted ? undefined : await statements.claim(now, stop);
    if (epoch === undefined) {
      this.#state = become(this.#state, 'standby');
      return false;
    }
    step('keep.claimed');
    this.#held(sentMs);
    this.#own(epoch);
    return true;
  }

  async #beat(epoch: number, stop: AbortSignal): Promise<boolean> {
    const { statements, clock } = this.#options;
    let sentMs = clock.monotonicMs();
    const isHeld = await statements.beat(epoch, () => (sentMs = clock.monotonicMs()), stop);
    if (isHeld) this.#held(sentMs);
    if (isHeld && this.#state === 'owner') this.#options.changed();
    return isHeld;
  }

  #held(sentMs: number): void {
    this.beatMs = sentMs;
    this.untilMs = sentMs + HELD * this.#options.leaseMs;
  }

  #own(epoch: number): void {
    this.#state = become(this.#state, 'owner');
    this.epoch = epoch;
    this.#options.changed();
  }

  /** undefined: not answered in time. */
  async #look(stop: AbortSignal): Promise<LeaseLook | undefined> {
    const { statements, clock } = this.#options;
    const look = statements.look(stop).catch(() => undefined);
    return within(clock, look, ANSWER_MS);
  }

  #saw({ epoch, owner }: LeaseLook): void {
    const isNews = owner !== this.owner || epoch !== this.epoch;
    this.owner = owner;
    this.epoch = epoch;
    if (isNews) this.#options.changed();
  }
}

function isSame(a: LeaseLook, b: LeaseLook): boolean {
  return a.epoch === b.epoch && a.beat === b.beat && a.owner === b.owner;
}
