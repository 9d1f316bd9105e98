/**
 * Taking sets from UNSes: one slice, one transaction. A set is answered only after its last commit; one that was cut
 * off keeps what it has and goes on where it stopped when it comes again (db/queue/absorb.ts).
 *
 * Sets of one provider are taken one at a time, whichever UNS they come from.
 */
import type { QueueStore } from '../db/queue/store.js';
import type { SetCounts, SetState, UrlReading } from '../db/queue/absorb.js';
import { NOW_SLOT, type WaitingSet } from '../db/queue/sets.js';
import type { Clock } from '../lib/clock.js';
import { step } from '../lib/steps.js';
import { mtimeOf } from './mtime.js';
import { resolveUrl } from '../wire/roots.js';
import type { SessionNote, SetHead } from '../wire/uns-qm.js';
import type { UrlRecord } from '../wire/url.js';

export interface IntakeOptions {
  store: QueueStore;
  clock: Clock;
  /** Most urls applied in one transaction. */
  sliceUrls: number;
  fullSetPeriodMs: number;
  /** A set is complete: the scheduler may have it. */
  onSet: (set: WaitingSet) => void;
  /** Something was committed: there may be files to delete. */
  onCommit: () => void;
}

/** Time a slice may take before its commit: what everything else in the process waits for. */
const SLICE_MS = 25;
const FIRST_SLICE_URLS = 1000;

/**
 * How many urls a slice has. Every commit costs a sync and writes each page the slice touched, so slices grow as long as
 * applying one takes less than SLICE_MS: keys in order make large ones, scattered keys small ones.
 */
export class SliceSize {
  readonly #most: number;
  #urls: number;

  constructor(most: number) {
    this.#most = most;
    this.#urls = Math.min(most, FIRST_SLICE_URLS);
  }

  get urls(): number {
    return this.#urls;
  }

  /** A slice of so many urls took so long. */
  took(urls: number, ms: number): void {
    if (urls < this.#urls) return;
    const wanted = (urls * SLICE_MS) / Math.max(ms, 0.001);
    this.#urls = Math.max(1, Math.floor(Math.min(this.#most, urls * 2, Math.max(urls / 2, wanted))));
  }
}

export type Refusal = { code: number; reason: string };

export class Intake {
  readonly options: IntakeOptions;
  readonly #size: SliceSize;
  /** By provider: what its next set waits for. */
  readonly #busy = new Map<number, Promise<void>>();
  #open = 0;

  constructor(options: IntakeOptions) {
    this.options = options;
    this.#size = new SliceSize(options.sliceUrls);
  }

  /** Sets being taken. */
  get open(): number {
    return this.#open;
  }

  /** Begins or resumes a set once the provider's earlier one is done with; `end` or `cut` must follow. */
  async begin(uns: string, head: SetHead): Promise<SetIntake> {
    this.#open++;
    const before = this.#busy.get(head.pid);
    let release = () => {};
    const mine = new Promise<void>(resolve => (release = resolve));
    const chain = (before ?? Promise.resolve()).then(() => mine);
    this.#busy.set(head.pid, chain);
    await before;
    return new SetIntake(this.options, this.#size, uns, head, () => {
      this.#open--;
      release();
      if (this.#busy.get(head.pid) === chain) this.#busy.delete(head.pid);
    });
  }

  /** A session took place; errors the CP has received are forgotten. */
  note(session: SessionNote): void {
    const { store } = this.options;
    store.transaction(() => noteSession(store, session));
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
      return state === undefined || state.complete ? undefined : closeSet(store, state);
    });
    step('qm.damage.noted');
    if (set !== undefined) this.options.onSet(set);
  }
}

/** One set being taken. */
export class SetIntake {
  readonly #options: IntakeOptions;
  readonly #size: SliceSize;
  readonly #uns: string;
  readonly #head: SetHead;
  readonly #release: () => void;
  readonly #reading: UrlReading;
  readonly #full: boolean;
  #state: SetState | undefined;
  #slice: UrlRecord[] = [];
  #toSkip: number;
  #seen = 0;
  #refusal: Refusal | undefined;
  #over = false;

  constructor(options: IntakeOptions, size: SliceSize, uns: string, head: SetHead, release: () => void) {
    this.#options = options;
    this.#size = size;
    this.#uns = uns;
    this.#head = head;
    this.#release = release;
    this.#full = head.set === 'full';
    this.#reading = { resolve: url => resolveUrl(head.urlprefix, url), mtimeOf };
    this.#state = options.store.absorb.find(uns, head.entry);
    this.#toSkip = this.#state === undefined ? 0 : this.#state.complete ? Infinity : this.#state.rowsdone;
    if (this.#state === undefined && options.store.providers.get(head.pid) === undefined)
      this.#refusal = { code: 101, reason: `provider ${head.pid} is unknown` };
  }

  /** Takes the next urls, in order. Commits whenever a slice is full. */
  urls(records: readonly UrlRecord[]): void {
    if (this.#refusal !== undefined || this.#toSkip === Infinity) return;
    for (const record of records) {
      if (this.#seen++ < this.#toSkip) continue;
      this.#slice.push(record);
      if (this.#slice.length >= this.#size.urls) this.#commit();
    }
    if (this.#seen > this.#head.received) {
      this.#refuse(104, `more urls than the ${this.#head.received} that were announced`);
    }
  }

  /** The set has ended: applies the rest, for a full set removes what it did not name, makes it complete. */
  async end(): Promise<SetCounts | Refusal> {
    try {
      if (this.#refusal !== undefined) return this.#refusal;
      if (this.#state?.complete) return countsOf(this.#state);
      if (this.#seen < this.#head.received) {
        this.#refuse(204, `${this.#seen} urls came, ${this.#head.received} were announced`);
        return this.#refusal ?? { code: 204, reason: '' };
      }
      if (this.#full) {
        this.#commit();
        await this.#reconcile();
      }
      return this.#complete();
    } finally {
      this.cut();
    }
  }

  /** The set was cut off, or is over: the provider's next one may begin. What is not committed is forgotten. */
  cut(): void {
    if (this.#over) return;
    this.#over = true;
    this.#slice = [];
    this.#release();
  }

  #commit(): void {
    this.#state = this.#options.store.transaction(() => this.#applySlice());
    this.#slice = [];
    step('qm.slice.committed');
    this.#options.onCommit();
  }

  #applySlice(): SetState {
    const { store, clock } = this.#options;
    const startedMs = clock.monotonicMs();
    // A rollback must leave the state as it was: work on a copy.
    const state =
      this.#state === undefined
        ? store.absorb.begin({ uns: this.#uns, ...this.#head, full: this.#full })
        : { ...this.#state };
    store.absorb.apply(state, this.#full, this.#slice, this.#reading, this.#nowS());
    this.#size.took(this.#slice.length, clock.monotonicMs() - startedMs);
    return state;
  }

  async #reconcile(): Promise<void> {
    const { store, sliceUrls } = this.#options;
    const state = this.#state;
    if (state === undefined) return;
    const pages = store.reconciler.run(state.pid, state.psetid, sliceUrls, () => this.#nowS());
    for (;;) {
      const removed = store.transaction(() => {
        const page = pages.next();
        if (page.done) return undefined;
        state.deleted += page.value;
        store.absorb.save(state);
        return page.value;
      });
      if (removed === undefined) return;
      step('qm.reconcile.committed');
      this.#options.onCommit();
      // Other sets and results are not to wait for a big one.
      await new Promise<void>(resolve => setImmediate(resolve));
    }
  }

  #complete(): SetCounts {
    const { store, fullSetPeriodMs, onSet } = this.#options;
    const head = this.#head;
    const { state, set } = store.transaction(() => {
      const state = this.#applySlice();
      const set = closeSet(store, state);
      const nowS = this.#nowS();
      store.providers.noteSet(head.pid, this.#full, nowS, Math.floor(fullSetPeriodMs / 1000));
      noteSession(store, head);
      store.absorb.prune(this.#uns, state.psetid);
      return { state, set };
    });
    step('qm.set.complete');
    if (set !== undefined) onSet(set);
    this.#options.onCommit();
    return countsOf(state);
  }

  /** What was taken of it so far is valid and stays; the rest can only come with a full set. */
  #refuse(code: number, reason: string): void {
    const { store, onSet } = this.#options;
    this.#refusal = { code, reason };
    const set = store.transaction(() => {
      store.providers.wantFullSet('cache crash', this.#head.pid);
      return this.#state === undefined ? undefined : closeSet(store, this.#state);
    });
    step('qm.set.refused');
    if (set !== undefined) onSet(set);
  }

  #nowS(): number {
    return Math.floor(this.#options.clock.nowMs() / 1000);
  }
}

/** Makes a set complete and, if it has rows, visible to the scheduler. Inside a transaction. */
function closeSet(store: QueueStore, state: SetState): WaitingSet | undefined {
  store.absorb.complete(state);
  const { psetid, pid, firstpos, lastpos } = state;
  const set = { psetid, slot: NOW_SLOT, pid, firstpos, lastpos };
  if (!store.queue.hasRows(set)) return undefined;
  store.queue.addSet(set);
  return set;
}

function noteSession(store: QueueStore, session: SessionNote): void {
  store.providers.noteSession(session.pid, session.seq, session.ip);
  store.errors.delivered(session.pid, session.errseen);
}

function countsOf({ queued, duplicate, unchanged, deleted }: SetState): SetCounts {
  return { queued, duplicate, unchanged, deleted };
}

export function isRefusal(answer: SetCounts | Refusal): answer is Refusal {
  return 'code' in answer;
}
