/**
 * Taking one set: one slice, one transaction. A set is answered only after its last commit; one that was cut
 * off keeps what it has and goes on where it stopped when it comes again (db/queue/absorb.ts). The urls of a
 * large set are fetched while the rest is taken, those of others when it is complete.
 *
 *     absorbing ──read whole; full, or many deletes──▶ counting ──few removals──▶ reconciling ──▶ complete
 *      │  │  │                                            ╰──more than the fuse lets pass: held──▶ complete
 *      │  │  ╰──read whole, or complete before──▶ complete
 *      │  ╰──not as announced──▶ refused          (also from the beginning: its provider is unknown)
 *      ╰──cut off: absorbing when it comes again
 *     late ──read whole──▶ passed-over    (not known to be later than the provider's last one, set-order.ts)
 *
 * The last transaction, for most sets the only one, is shared with sets of other providers that end at the
 * same time.
 */
import { countsOf, type SetCounts, type SetState } from '../db/queue/absorbed.js';
import { isLarge, type WaitingSet } from '../db/queue/sets.js';
import type { GroupCommit } from '../lib/group-commit.js';
import { transitions, type StateOf } from '../lib/states.js';
import { step } from '../lib/steps.js';
import type { SetHead } from '../wire/uns-qm.js';
import type { UrlRecord } from '../wire/url.js';
import { closeSet, giveUpSet, showSet } from './close-set.js';
import { fuseLimit, holdRemovals, isWithinFuse, mayExceedFuse } from './fuse.js';
import { kindOf } from './set-kind.js';
import { isLater, passOver, whyRefused, type SetRefusal } from './set-order.js';
import { Slice } from './slice.js';
import type { TakingParts, SliceSizes, TakingOptions } from './taking-options.js';

const becomes = transitions('set', {
  absorbing: ['counting', 'complete', 'refused'],
  late: ['passed-over'],
  counting: ['reconciling', 'complete'],
  reconciling: ['complete'],
  complete: [],
  'passed-over': [],
  refused: [],
});

/** The states drawn above. */
export type AbsorptionState = StateOf<typeof becomes>;

export type { SetRefusal } from './set-order.js';

/** One set being taken. */
export class SetAbsorption {
  readonly #options: TakingOptions;
  readonly #sizes: SliceSizes;
  readonly #commits: GroupCommit;
  readonly #rest: (workedMs: number) => Promise<void>;
  readonly #uns: string;
  readonly #head: SetHead;
  readonly #release: () => void;
  readonly #full: boolean;
  readonly #kind;
  /** Made beside it in the transaction that is under way. */
  #beside: WaitingSet | undefined;
  /** True if its deletes are noted, to be judged when the set has been read. */
  #withheld: boolean;
  #state: SetState | undefined;
  #slice = new Slice();
  #toSkip: number;
  #seen = 0;
  /** Urls that waited already, at the last commit. */
  #changed = 0;
  #at: AbsorptionState;
  /** Why it is refused. */
  #refusal: SetRefusal | undefined;
  #over = false;

  constructor(
    options: TakingOptions,
    { sizes, commits, rest }: TakingParts,
    uns: string,
    head: SetHead,
    release: () => void,
  ) {
    this.#options = options;
    this.#sizes = sizes;
    this.#commits = commits;
    this.#rest = rest;
    this.#uns = uns;
    this.#head = head;
    this.#release = release;
    this.#full = head.set === 'full' && head.origin === undefined;
    // safeguard: memory of what was absorbed
    this.#state = options.store.absorb.sets.find(uns, head.entry);
    this.#kind = kindOf(options.store, head, this.#state, this.#nowS());
    this.#withheld =
      this.#state === undefined
        ? mayExceedFuse(options.store, head, this.#full, options.fuse)
        : options.store.held.isOpen(this.#state.psetid);
    // safeguard: going on where a set was cut off
    this.#toSkip = this.#state === undefined ? 0 : this.#state.complete ? Infinity : this.#state.rowsdone;
    this.#at = 'absorbing';
    if (this.#state?.complete === 1) return;
    if (!isLater(head, uns, options.store.providers.latestSet(head.pid))) this.#at = 'late';
    this.#refusal = whyRefused(options.store, head.pid);
    if (this.#refusal !== undefined) this.#at = 'refused';
  }

  /** As `urls`, and lets others have their share of the time. */
  async take(records: readonly UrlRecord[]): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    this.urls(records);
    await this.#rest(clock.monotonicMs() - startedMs);
  }

  /** Takes the next urls, in order. Commits whenever a slice is full. */
  urls(records: readonly UrlRecord[]): void {
    if (this.#at !== 'absorbing') return;
    let most = this.#sizes.slice.urls;
    for (const record of records) {
      // The set has no more places than that.
      if (++this.#seen > this.#head.received) break;
      if (this.#seen <= this.#toSkip) continue;
      this.#slice.add(record, most);
      if (this.#slice.urls < most) continue;
      this.#commit();
      most = this.#sizes.slice.urls;
    }
    if (this.#seen > this.#head.received) {
      this.#refuse(104, `more urls than the ${this.#head.received} that were announced`);
    }
  }

  /** The set has ended: applies the rest, for a full set removes what it did not name, makes it complete. */
  async end(): Promise<SetCounts | SetRefusal> {
    try {
      if (this.#refusal !== undefined) return this.#refusal;
      if (this.#at === 'late') return await this.#passOver();
      if (this.#seen < this.#head.received) {
        this.#refuse(204, `${this.#seen} urls came, ${this.#head.received} were announced`);
        return this.#refusal ?? { code: 204, reason: '' };
      }
      if (this.#state?.complete) {
        this.#enter('complete');
        return countsOf(this.#state);
      }
      // safeguard: the answer waiting for the commit
      if (!this.#full && !this.#withheld) return await this.#complete();
      this.#commit();
      this.#enter('counting');
      const excess = await this.#excess();
      if (excess === undefined) {
        this.#enter('reconciling');
        await this.#remove();
      }
      return await this.#complete(excess);
    } finally {
      this.cut();
    }
  }

  /**
   * The set was cut off, or is over: the provider's next one may begin. What is not committed is forgotten.
   */
  cut(): void {
    if (this.#over) return;
    this.#over = true;
    this.#slice = new Slice();
    this.#release();
  }

  #enter(state: AbsorptionState): void {
    this.#at = becomes(this.#at, state, this.#head.entry);
  }

  #commit(): void {
    const { store, clock, pagesWritten, onSet } = this.#options;
    const pages = pagesWritten();
    const startedMs = clock.monotonicMs();
    let appliedMs = 0;
    const { state, set } = store.transaction(() => {
      const state = this.#applySlice(false);
      appliedMs = clock.monotonicMs() - startedMs;
      return { state, set: isLarge(state) ? showSet(store, state) : undefined };
    });
    this.#sizes.slice.took(this.#slice.urls, appliedMs, pagesWritten() - pages);
    const fromPos = state.firstpos + state.rowsdone - this.#slice.urls;
    this.#state = state;
    // safeguard: incomplete sets being kept from the order
    this.#slice = new Slice();
    step('qm.slice.committed');
    if (set !== undefined) onSet(set, fromPos);
    this.#tell(state);
  }

  #applySlice(isLast: boolean): SetState {
    const { store } = this.#options;
    // A rollback must leave the state as it was: work on a copy.
    const state = this.#state === undefined ? this.#begin() : { ...this.#state };
    const isInside = store.providers.insideOf(this.#head.pid);
    const of = { full: this.#full, withheld: this.#withheld, ...this.#kind, isLast, isInside };
    this.#beside = store.absorb.apply(state, of, this.#slice, this.#head.urlprefix, this.#nowS());
    return state;
  }

  /** @param received places set aside in the queue */
  #begin(received = this.#head.received): SetState {
    const { store } = this.#options;
    // First, for what its CP has received makes room for errors of its urls.
    if (this.#head.origin === undefined) store.errors.delivered(this.#head.pid, this.#head.errseen);
    const state = store.absorb.begin({
      ...this.#head,
      uns: this.#uns,
      full: this.#full,
      received,
    });
    if (this.#withheld) store.held.open(state.psetid, state.pid, this.#head.digest ?? '');
    return state;
  }

  /** How much content the set would remove; undefined when it may. */
  async #excess(): Promise<number | undefined> {
    const { store, fuse } = this.#options;
    const terms = store.held.terms(this.#head.pid);
    const limit = fuseLimit(terms, fuse);
    if (this.#full && isWithinFuse(store, this.#head, terms, limit)) return undefined;
    const content = this.#full ? await this.#countUnnamed() : await this.#siftDeletes();
    // safeguard: the fuse
    return content > limit ? content : undefined;
  }

  async #countUnnamed(): Promise<number> {
    let content = 0;
    const { store, clock } = this.#options;
    let startedMs = clock.monotonicMs();
    for (const some of store.reconciler.count(this.#head.pid, this.#psetid)) {
      content += some;
      await this.#rest(clock.monotonicMs() - startedMs);
      await breath();
      startedMs = clock.monotonicMs();
    }
    return content;
  }

  async #siftDeletes(): Promise<number> {
    let content = 0;
    const sifting = this.#options.store.held.sift({ psetid: this.#psetid, pid: this.#head.pid }, () =>
      this.#rows(),
    );
    await this.#inSlices(sifting, (seen, state) => {
      content += seen.content;
      state.unchanged += seen.idle;
      return seen.idle > 0;
    });
    return content;
  }

  /** Removes what the full set did not name, or what the partial one wants deleted. */
  async #remove(): Promise<void> {
    const { store } = this.#options;
    const { pid } = this.#head;
    const rows = () => this.#rows();
    const nowS = () => this.#nowS();
    const removal = this.#full
      ? store.reconciler.run(pid, this.#psetid, rows, nowS)
      : store.held.carryOut({ psetid: this.#psetid, pid }, rows, nowS);
    await this.#inSlices(removal, (removed, state) => {
      state.deleted += removed;
      return removed > 0;
    });
  }

  /** Runs each step in a transaction of its own. @param count adds a step's result to the set; true: it has
   * changed */
  async #inSlices<T>(
    steps: Generator<T, void>,
    count: (result: T, state: SetState) => boolean,
  ): Promise<void> {
    const { store, clock } = this.#options;
    for (;;) {
      const startedMs = clock.monotonicMs();
      const rows = this.#rows();
      const isOver = store.transaction(() => {
        const { done, value } = steps.next();
        if (done === true) return true;
        this.#sizes.removal.took(rows, clock.monotonicMs() - startedMs, 0);
        if (this.#state !== undefined && count(value, this.#state)) store.absorb.sets.save(this.#state);
        return false;
      });
      if (isOver) return;
      step('qm.reconcile.committed');
      this.#tell(this.#state);
      await this.#rest(clock.monotonicMs() - startedMs);
      await breath();
    }
  }

  /** Urls taken before sets that are newer stay: they came after those. The rest can only come with a full
   * set. */
  async #passOver(): Promise<SetCounts> {
    const { store, log, onSet } = this.#options;
    const head = this.#head;
    const { state, set } = await this.#commits.add(() => {
      const state = this.#state === undefined ? this.#begin(0) : { ...this.#state };
      return { state, set: passOver(store, state, head, this.#nowS()) };
    }, 0);
    this.#enter('passed-over');
    step('qm.set.passed');
    const { pid, entry, received: urls } = head;
    log.warn('set not applied, full set wanted: newer sets came by another UNS', { pid, entry, urls });
    if (set !== undefined) onSet(set);
    return countsOf(state);
  }

  /** @param excess number of removals that are held back */
  async #complete(excess?: number): Promise<SetCounts> {
    const { store, fullSetPeriodMs, onSet, log } = this.#options;
    const head = this.#head;
    const { state, set } = await this.#commits.add(() => {
      const state = this.#applySlice(true);
      const set = closeSet(store, state);
      const nowS = this.#nowS();
      store.absorb.sets.prune(this.#uns, state.psetid);
      // The owner was not here.
      if (head.origin !== undefined) return { state, set };
      store.providers.noteSet(head.pid, nowS, {
        psetid: state.psetid,
        uns: this.#uns,
        numbering: head.numbering,
        newest: head.newest,
      });
      if (this.#full) {
        const isRepeated = store.held.matches(head.pid, true, head.digest ?? '');
        store.providers.noteFullSet(head.pid, nowS, Math.floor(fullSetPeriodMs / 1000), isRepeated);
      }
      this.#settleRemovals(state, excess, nowS);
      store.providers.noteSession(head, nowS);
      return { state, set };
    }, this.#slice.urls);
    this.#enter('complete');
    step('qm.set.complete');
    if (excess !== undefined)
      log.warn('removals held back', { pid: head.pid, psetid: state.psetid, urls: excess });
    if (set !== undefined) onSet(set, state.firstpos + state.rowsdone - this.#slice.urls);
    this.#tell(state);
    return countsOf(state);
  }

  #tell(state: SetState | undefined): void {
    if (this.#beside !== undefined) this.#options.onSet(this.#beside);
    this.#beside = undefined;
    const changed = state === undefined ? 0 : state.duplicate + state.deleted;
    this.#options.onCommit(this.#head.pid, changed > this.#changed);
    this.#changed = changed;
  }

  #settleRemovals({ psetid, pid }: SetState, excess: number | undefined, nowS: number): void {
    const { held } = this.#options.store;
    const { digest = '' } = this.#head;
    // safeguard: a later full set settling what earlier ones would have removed
    if (this.#full) held.supersede(pid, psetid);
    else if (digest !== '') held.confirm(pid, digest);
    if (excess !== undefined) holdRemovals(this.#options.store, this.#head, psetid, excess, nowS);
    else if (this.#withheld) held.forget(psetid);
  }

  /** Urls taken so far are valid and stay; the rest can only come with a full set. */
  #refuse(code: number, reason: string): void {
    const { store, onSet } = this.#options;
    this.#enter('refused');
    this.#refusal = { code, reason };
    // The refusal was noted when the set came first; only the answer was lost.
    if (this.#state?.complete) return;
    const set = store.transaction(() => {
      if (this.#head.origin === undefined) store.providers.wantFullSet('cache crash', this.#head.pid);
      return this.#state === undefined ? undefined : giveUpSet(store, this.#state);
    });
    step('qm.set.refused');
    if (set !== undefined) onSet(set);
  }

  get #psetid(): number {
    return this.#state?.psetid ?? 0;
  }

  #rows(): number {
    return this.#sizes.removal.urls;
  }

  #nowS(): number {
    return Math.floor(this.#options.clock.nowMs() / 1000);
  }
}

export const isRefusal = (answer: SetCounts | SetRefusal): answer is SetRefusal => 'code' in answer;

// Other sets and results are not to wait for a big one.
const breath = (): Promise<void> => new Promise(resolve => setImmediate(resolve));
