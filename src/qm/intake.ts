/** Taking sets from UNSes. Those of one provider are taken one at a time, whichever UNS they come from. */
import { step } from '../lib/steps.js';
import type { SessionNote, SetHead } from '../wire/uns-qm.js';
import { giveUpSet, noteSession, SetIntake, type IntakeOptions } from './set-intake.js';
import { SliceSize } from './slice-size.js';

/** Where sets came beside a large one more will come: it takes shorter slices for so long. */
const SHARED_FOR_MS = 1000;

export class Intake {
  readonly options: IntakeOptions;
  readonly #sizes: { slice: SliceSize; removal: SliceSize };
  /** By provider: what its next set waits for. */
  readonly #busy = new Map<number, Promise<void>>();
  #open = 0;
  /** When a set was last begun beside another. */
  #besideMs = -Infinity;

  constructor(options: IntakeOptions) {
    this.options = options;
    const size = () => new SliceSize(options.sliceUrls, () => this.#isShared());
    this.#sizes = { slice: size(), removal: size() };
  }

  /** Sets being taken. */
  get open(): number {
    return this.#open;
  }

  /** Begins or resumes a set once the provider's earlier one is done with; `end` or `cut` must follow. */
  async begin(uns: string, head: SetHead): Promise<SetIntake> {
    if (this.#open++ > 0) this.#besideMs = this.options.clock.monotonicMs();
    const before = this.#busy.get(head.pid);
    let release = () => {};
    const mine = new Promise<void>(resolve => (release = resolve));
    const chain = (before ?? Promise.resolve()).then(() => mine);
    this.#busy.set(head.pid, chain);
    await before;
    return new SetIntake(this.options, this.#sizes, uns, head, () => {
      this.#open--;
      release();
      if (this.#busy.get(head.pid) === chain) this.#busy.delete(head.pid);
    });
  }

  #isShared(): boolean {
    const { clock, isFetching } = this.options;
    return isFetching() || clock.monotonicMs() - this.#besideMs < SHARED_FOR_MS;
  }

  /** A session took place; errors the CP has received are forgotten. */
  note(session: SessionNote): void {
    const { store, clock } = this.options;
    const nowS = Math.floor(clock.nowMs() / 1000);
    store.transaction(() => noteSession(store, session, nowS));
    step('qm.session.noted');
  }

  /**
   * An accepted set was found unreadable: what was taken of it is fetched, and its provider is asked for all it has.
   */
  damaged(uns: string, entry: string, pid: number): void {
    const { store } = this.options;
    const state = store.absorb.find(uns, entry);
    const set = store.transaction(() => {
      store.providers.wantFullSet('cache crash', pid);
      return state === undefined || state.complete ? undefined : giveUpSet(store, state);
    });
    step('qm.damage.noted');
    if (set !== undefined) this.options.onSet(set);
  }
}
