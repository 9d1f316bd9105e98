/** Taking sets from UNSes. Those of one provider are taken one at a time, whichever UNS they come from. */
import type { DutyCycle } from '../lib/duty-cycle.js';
import { GroupCommit } from '../lib/group-commit.js';
import { KeyedLock } from '../lib/keyed-lock.js';
import { step } from '../lib/steps.js';
import { LARGE_SET_URLS, type SessionNote, type SetHead } from '../wire/uns-qm.js';
import { giveUpSet, noteSession } from './close-set.js';
import { SetAbsorption } from './set-absorption.js';
import type { TakingOptions } from './taking-options.js';
import { SliceSize } from './slice-size.js';

/** Time that one transaction of a set may take while nothing else is there: absorbing, and removing. */
const SLICE_MS = 250;
const REMOVAL_MS = 25;

export interface IntakeOptions extends TakingOptions {
  /** Duty cycle of providers: those with large sets make room for the others. */
  duty: DutyCycle<number>;
  /** Resolves when there may be commits; left out: always. */
  mayCommit?: () => Promise<void>;
}

export class Intake {
  readonly options: IntakeOptions;
  readonly #sizes: { slice: SliceSize; removal: SliceSize };
  /** The last slices of sets, and sessions. */
  readonly #commits: GroupCommit;
  /** One lock per provider. */
  readonly #taking = new KeyedLock<number>();
  readonly #duty: DutyCycle<number>;
  #open = 0;

  constructor(options: IntakeOptions) {
    this.options = options;
    this.#duty = options.duty;
    const size = (aloneMs: number) =>
      new SliceSize({
        most: options.sliceUrls,
        aloneMs,
        isShared: () => options.isFetching() || this.#duty.isShared,
      });
    this.#sizes = { slice: size(SLICE_MS), removal: size(REMOVAL_MS) };
    this.#commits = new GroupCommit({
      commit: change => options.store.transaction(change),
      clock: options.clock,
      maxWeight: () => this.#sizes.slice.urls,
    });
  }

  /** Sets being taken. */
  get open(): number {
    return this.#open;
  }

  /** Begins or resumes a set once the provider's earlier one is done with; `end` or `cut` must follow. */
  async begin(uns: string, head: SetHead): Promise<SetAbsorption> {
    this.#open++;
    this.#duty.note(head.pid);
    const release = await this.#taking.take(head.pid);
    const rest = async (workedMs: number) => {
      if (head.received > LARGE_SET_URLS) await this.#duty.rest(head.pid, workedMs);
      await this.options.mayCommit?.();
    };
    const parts = { sizes: this.#sizes, commits: this.#commits, rest };
    const end = () => {
      this.#open--;
      release();
    };
    try {
      return new SetAbsorption(this.options, parts, uns, head, end);
    } catch (error) {
      // The provider's other sets must not wait for one that never began.
      end();
      throw error;
    }
  }

  /**
   * Ends what has begun of a provider of which no further set is taken: one that is being taken is taken
   * whole, of one that was cut off what came of it stays.
   */
  async end(pid: number): Promise<void> {
    const release = await this.#taking.take(pid);
    try {
      const { store } = this.options;
      store.transaction(() => {
        for (const state of store.absorb.sets.begun(pid)) giveUpSet(store, state);
      });
    } finally {
      release();
    }
  }

  /** A session took place; errors the CP has received are forgotten. */
  async note(session: SessionNote): Promise<void> {
    const { store, clock } = this.options;
    const nowS = Math.floor(clock.nowMs() / 1000);
    await this.#commits.add(() => noteSession(store, session, nowS));
    step('qm.session.noted');
  }

  /** An accepted set was found unreadable: what was taken of it is fetched, and its provider is asked for all
   * it has. */
  damaged(uns: string, entry: string, pid: number): void {
    const { store } = this.options;
    const state = store.absorb.sets.find(uns, entry);
    const set = store.transaction(() => {
      store.providers.wantFullSet('cache crash', pid);
      return state === undefined || state.complete ? undefined : giveUpSet(store, state);
    });
    step('qm.damage.noted');
    if (set !== undefined) this.options.onSet(set);
  }
}
