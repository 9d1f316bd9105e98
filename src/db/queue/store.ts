/** The Queue Manager's whole view of lcc.db: its stores over one connection, and the one way to change
 * anything. */
import { AgeStore } from '../cache/age.js';
import { ContentStore } from '../cache/content.js';
import { ErrorStore } from '../cache/errors.js';
import { FailureStore } from '../cache/failures.js';
import { FreedStore } from '../cache/freed.js';
import { StoreRegister } from '../cache/stores.js';
import { Tally } from '../cache/tally.js';
import { storageError, type Db } from '../sqlite/open.js';
import { SqlStore } from '../sqlite/sql-store.js';
import { AbsorbWriter } from './absorb.js';
import { QueueFolders } from './folders.js';
import { HeldStore } from './held-removals.js';
import { AbsentPagesStore } from './absent-pages.js';
import { Observer, type GoneRules } from './observer.js';
import { ProviderArrival } from '../moves/arrival.js';
import { ClearingStore } from '../moves/clearing.js';
import { MovingStore } from '../moves/moving.js';
import type { Parcel } from '../moves/parcel.js';
import { DepartureStore } from '../providers/departures.js';
import { ProviderStore } from '../providers/provider-store.js';
import { AuditSamples } from '../truth/audits.js';
import { TruthDays } from '../truth/days.js';
import { PushDays } from '../truth/pushes.js';
import { TruthReader, type ProviderTruth } from '../truth/reader.js';
import { VisitStore } from '../truth/visits.js';
import { Reconciler } from './reconcile.js';
import { Refetcher } from './refetch.js';
import { ResultWriter, type RetryRule } from './results.js';
import { RobotsStore } from './robots-txt.js';
import { QueueReader } from './sets.js';
import { SlotStore } from './slots.js';

interface StoreRules {
  /** Errors kept for one provider until it connects. Left out: 1000. */
  errorsKept?: number;
  /** Failures remembered of one provider; the oldest go. Left out: as many as FAILURES_KEPT. */
  failuresKept?: number;
  /** Urls of a provider that are known not to be had; the oldest go. Left out: a million. */
  knownUrls?: number;
  /** Left out: no url is tried again. */
  retries?: RetryRule;
  nowS: () => number;
  /** Left out: what a scan finds gone goes, however much. */
  gone?: GoneRules;
  /** Something was committed. */
  committed?: () => void;
}

export class QueueStore extends SqlStore {
  readonly #tally = new Tally(this.db);
  readonly freed = new FreedStore(this.db);
  readonly visits = new VisitStore(this.db);
  readonly content = new ContentStore(this.db, {
    tally: this.#tally,
    freed: this.freed,
    visits: this.visits,
  });
  readonly deletions = this.content.deletions;
  readonly errors: ErrorStore;
  readonly failures: FailureStore;
  readonly folders = new QueueFolders(this.db);
  readonly absorb: AbsorbWriter;
  readonly reconciler: Reconciler;
  readonly departures: DepartureStore;
  readonly refetch: Refetcher;
  readonly moving = new MovingStore(this.db);
  readonly clearing: ClearingStore;
  readonly held: HeldStore;
  readonly known: AbsentPagesStore;
  readonly age: AgeStore;
  readonly providers = new ProviderStore(this.db);
  readonly queue: QueueReader;
  readonly results: ResultWriter;
  readonly robots = new RobotsStore(this.db);
  readonly slots: SlotStore;
  readonly stores = new StoreRegister(this.db);
  readonly truth = new TruthDays(this.db);
  readonly pushes = new PushDays(this.db);
  readonly audits = new AuditSamples(this.db, { days: this.truth, visits: this.visits });
  readonly #scores = new TruthReader(this.db);
  /** Those that write at the end of a transaction, in this order, what they have collected in it. */
  readonly #collecting: readonly { flush(): void; reset(): void }[];
  readonly #beginTransaction = this.sql.run('BEGIN IMMEDIATE');
  readonly #commitTransaction = this.sql.run('COMMIT');
  readonly #committed: () => void;
  readonly #nowS: () => number;

  constructor(db: Db, rules: StoreRules) {
    super(db);
    this.#committed = rules.committed ?? (() => undefined);
    this.#nowS = rules.nowS;
    this.failures = new FailureStore(db, rules.nowS, rules.failuresKept);
    const noted = { tally: this.#tally, failures: this.failures };
    this.errors = new ErrorStore(db, noted, rules.errorsKept);
    this.queue = new QueueReader(db, this.#tally, rules.nowS);
    const stores = { queue: this.queue, content: this.content, errors: this.errors, tally: this.#tally };
    const { failures } = this;
    this.held = new HeldStore(db, { ...stores, failures });
    this.known = new AbsentPagesStore(db, rules.knownUrls);
    this.age = new AgeStore(db, stores);
    this.absorb = new AbsorbWriter(db, {
      ...stores,
      failures,
      held: this.held,
      known: this.known,
      audits: this.audits,
    });
    this.reconciler = new Reconciler(db, { ...stores, failures });
    this.departures = new DepartureStore(db, { ...stores, reconciler: this.reconciler });
    this.refetch = new Refetcher(db, stores);
    this.clearing = new ClearingStore(db, stores);
    const observer = new Observer(
      { visits: this.visits, truth: this.truth, pushes: this.pushes, audits: this.audits, held: this.held },
      rules.gone,
    );
    this.results = new ResultWriter(db, { ...stores, known: this.known, observer }, rules.retries);
    this.slots = new SlotStore(db, stores);
    this.#collecting = [this.truth, this.pushes, this.errors, this.failures, this.#tally];
  }

  /**
   * Runs `change` and commits it, durably, before returning its value; a throw undoes everything.
   * Transactions do not nest.
   * @throws LccError `io.full` when the disk is full: try later; `io` or `data.malformed`: stop and start
   * again
   */
  transaction<T>(change: () => T): T {
    const value = this.#commit(change);
    this.#committed();
    return value;
  }

  /** Worth of the announcements of providers, of all or of one. */
  scores(nowS: number, pid?: number): ProviderTruth[] {
    return this.#scores.read(nowS, pid);
  }

  /** A provider that moved is here from now on, or stays: memory of it is of what was here before. */
  settle(pid: number): void {
    this.transaction(() => this.moving.settle(pid));
    for (const store of [this.absorb, this.known, this.audits]) store.moved(pid);
  }

  /**
   * Urls that are known not to be had, of a provider or of all, may be asked for. Inside a transaction.
   * @returns providers that had such
   */
  flushKnown(pid?: number): number[] {
    return this.known.flush(this.#nowS(), pid);
  }

  /** A provider comes in a parcel to this shard. */
  arrival(parcel: Parcel, shard: number): ProviderArrival {
    const [content, refetch, tally] = [this.content, this.refetch, this.#tally];
    return new ProviderArrival(this.db, parcel, shard, { content, refetch, tally });
  }

  close(): void {
    this.db.close();
  }

  #commit<T>(change: () => T): T {
    this.#beginTransaction();
    try {
      const value = change();
      for (const store of this.#collecting) store.flush();
      this.#commitTransaction();
      this.audits.committed();
      return value;
    } catch (error) {
      for (const store of [...this.#collecting, this.absorb, this.refetch, this.known, this.audits])
        store.reset();
      if (this.db.inTransaction) this.db.exec('ROLLBACK');
      throw storageError(this.db.name, error);
    }
  }
}
