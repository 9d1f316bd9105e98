/**
 * The heart of the Queue Manager: rows of the queue go out to Bot Managers as lanes allow, results come back
 * and are committed. What is on its way is known in memory only; a Bot Manager that vanishes, or a restart,
 * puts it back (docs/design/queue-manager.md).
 */
import type { WaitingSet } from '../db/queue/sets.js';
import type { FetchResult } from '../wire/fetch.js';
import { patienceOf } from '../wire/left-alone.js';
import type { DispatchOptions } from './dispatch-options.js';
import { Unasked } from './robots-gate/unasked.js';
import { KnownProviders, type Known, type WaitsFor } from './known-providers.js';
import { Pump } from './pump.js';
import { RefusedLogins } from './refused-logins.js';
import { ResultBatch, type Arrival, type Settled } from './results.js';
import { Retries } from './retries.js';
import { LaneTable } from './schedule/lanes.js';
import { Sending } from './sending.js';
import { TimeSlots } from './time-slots.js';
import { Waits } from './waits.js';
import { Workers, type FetchWorker, type Request } from './workers.js';

/** Longest time of a pump: urls that need nothing sent may follow each other by the million. */
const PUMP_MS = 20;
/** Providers that a status names for one reason. */
const NAMED_PROVIDERS = 1000;

export class Dispatcher {
  readonly #options: DispatchOptions;
  readonly #table: LaneTable;
  readonly #batch: ResultBatch;
  readonly #waits: Waits;
  readonly #slots: TimeSlots;
  readonly #providers: KnownProviders;
  readonly #workers: Workers;
  readonly #refusedLogins: RefusedLogins;
  readonly #sending: Sending;
  readonly #retries: Retries;
  readonly #unasked: Unasked;
  readonly #soon: Pump;
  #lastId = 0;
  #cancelWake: (() => void) | undefined;
  #stopped = false;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#soon = new Pump(() => this.#pump(), options.atReturn);
    const orderOf = (pid: number) => this.#providers.get(pid)?.order;
    this.#table = new LaneTable(options.lanes, (pid, most) => orderOf(pid)?.waiting(most) ?? 0);
    this.#retries = new Retries(options, orderOf);
    this.#waits = new Waits(options, this.#table);
    this.#slots = new TimeSlots({
      store: options.store,
      clock: options.clock,
      slots: options.slots,
      holding: (pid, holding) => {
        this.#table.setHindered(pid, 'joining', holding);
        this.pump();
      },
      joined: (set, places, areAll) => this.#providers.joined(set, places, areAll),
      failed: options.failed,
    });
    this.#providers = new KnownProviders(options, {
      table: this.#table,
      waits: this.#waits,
      slots: this.#slots,
    });
    this.#workers = new Workers(this.#table, options.log, options.store.queue);
    this.#refusedLogins = new RefusedLogins(options);
    this.#unasked = new Unasked({ ...options, table: this.#table, orderOf });
    this.#batch = new ResultBatch({
      store: options.store,
      clock: options.clock,
      postpone: (taken, hours) => this.#slots.postpone(taken, hours),
      learn: news => this.#unasked.gate.write(news),
      alongside: arrival => this.#waits.note(this.#providers.get(arrival.sent.pid), arrival),
      close: () => this.#waits.close(),
      committed: (results, tookMs) => this.#committed(results, tookMs),
      failed: options.failed,
      mayCommit: options.mayCommit,
    });
    this.#sending = new Sending({
      store: options.store,
      table: this.#table,
      providers: this.#providers,
      workers: this.#workers,
      slots: this.#slots,
      waits: this.#waits,
      retries: this.#retries,
      batch: this.#batch,
      unasked: this.#unasked,
      nextId: () => this.nextId(),
      nowS: () => Math.floor(options.clock.nowMs() / 1000),
      finish: known => this.#finishSets([known]),
    });
  }

  /** Ids of requests, unique over all connections. */
  readonly nextId = (): number => ++this.#lastId;

  /** Takes over the sets that waited when this process started. */
  start(): void {
    this.#slots.start();
    // safeguard: finding the providers with sets at the start
    for (const pid of this.#options.store.queue.providers()) this.#providers.addStored(pid);
    this.pump();
  }

  /** Writes what has arrived; sends nothing more. */
  stop(): void {
    this.#stopped = true;
    this.#soon.stop();
    this.#slots.stop();
    this.#cancelWake?.();
    this.#batch.stop();
  }

  /** A set is complete, or there are more urls of a large one, from a place on. */
  addSet(set: WaitingSet, fromPos?: number): void {
    this.#providers.addNew(set, fromPos);
    this.#waits.added(set);
    this.pump();
  }

  /** Something was absorbed: urls that wait for their hours may have others now. @param haveChanged some that
   * waited */
  resubmitted(pid: number, haveChanged: boolean): void {
    this.#slots.resubmitted();
    if (!haveChanged || !this.isFetching) return;
    this.#workers.changed(pid);
    this.pump();
  }

  get isFetching(): boolean {
    return this.#workers.requests > 0;
  }

  setWorker(id: number, worker: FetchWorker, slots: number, takesUnasked = false): void {
    this.#workers.set(id, worker, slots, takesUnasked);
    this.pump();
  }

  /** A Bot Manager is gone: its urls are given to another. */
  removeWorker(id: number): void {
    const nowMs = this.#options.clock.monotonicMs();
    // safeguard: giving back what a lost Bot Manager was doing
    for (const request of this.#workers.remove(id)) {
      // safeguard: giving back what a lost Bot Manager was expected to receive
      this.#waits.lost(this.#providers.get(request.lane.pid), request, nowMs);
      this.#putBack(request);
    }
    this.pump();
  }

  /**
   * Takes a result apart: its lane, its Bot Manager and its site are settled at once, its url by the commit.
   * @returns false when it was not asked of this Bot Manager
   */
  fetched(workerId: number, result: FetchResult): boolean {
    const request = this.#workers.take(result.id, workerId);
    if (request === undefined) return false;
    const { lane, arrival } = request;
    const known = this.#providers.get(lane.pid);
    this.#table.finished(lane);
    this.#waits.returned(arrival.set, lane.inFlight === 0);
    if (result.status === 'recalled') {
      this.#waits.recalled(known, request.expected);
      this.#putBack(request);
      this.pump();
      return true;
    }
    const nowMs = this.#options.clock.monotonicMs();
    this.#batch.arrived(result);
    this.#waits.answered(known, request, result, nowMs);
    const terms = { pid: lane.pid, nowMs, restMs: this.#options.backoff.minMs };
    if (result.status !== 'inline' && this.#workers.heed(workerId, result, terms)) {
      this.#putBack(request);
    } else {
      const taken = this.#unasked.arrivalOf(request, result, known);
      if (known !== undefined) this.#heard(request, taken, known);
      // The worker hands back by itself what it has not begun, and waits to hear that this is known.
      if (patienceOf(result) > 0) this.#workers.get(workerId)?.recall(lane.name);
      this.#batch.add(taken, lane.inFlight === 0 && known?.order.isRead(arrival.set) === true);
    }
    this.pump();
    return true;
  }

  /** Meaning of a result for its site, besides that for its url: the provider that waits for it now. */
  #heard({ lane, arrival, url, login }: Request, { result, news }: Arrival, known: Known): void {
    if (result !== undefined || news?.robots?.failures === 0) known.silent.heard(url, result);
    if (login !== undefined && result !== undefined && login === known.terms.login)
      this.#refusedLogins.heard(lane.pid, login, result);
    // Urls that nobody announced wait by themselves (robots-gate/waiting-origins.ts).
    // safeguard: calling back what has not begun where an origin does not answer
    if (news?.pause !== undefined) this.#table.recallAll(lane.pid);
    // safeguard: what nobody announced delaying nothing that an owner did
    if (result?.status === 'error' && arrival.set.class === 0)
      this.#waits.heed(known, arrival.backoffs, result, url);
  }

  /** Calls back all that is on its way, what has begun too. */
  giveUp(): void {
    this.#workers.giveUp();
  }

  /** A file without a row has been deleted. */
  readonly deleted = (fid: number): void => this.#batch.deleted(fid);

  /** Providers were changed by another process, or one, not in its hours, by a control: read them again. */
  reload(pid?: number): void {
    this.#providers.reload(pid);
    this.#refusedLogins.reload(each => this.#options.store.providers.get(each)?.login);
    if (pid === undefined) this.#slots.reload();
    this.pump();
  }

  /** True if nothing of a provider is on its way, or came back and is not written yet. */
  readonly isAtRest = (pid: number): boolean => !this.#workers.has(pid) && !this.#batch.has(pid);

  /** Forgets delays, of one provider or of all; what is written of them is forgotten already. */
  forgetDelays(pid?: number): void {
    this.#unasked.gate.reload();
    this.#unasked.origins.end(pid);
    this.#providers.forgetDelays(pid);
    this.pump();
  }

  /** Why a Bot Manager is given nothing for now, and for how long still. */
  restOf(workerId: number): { rests_ms: number; reason: string } | undefined {
    return this.#workers.restOf(workerId, this.#options.clock.monotonicMs());
  }

  /** Providers with urls on their way, and how many, at most `limit`. */
  fetching(limit: number): [number, number][] {
    return this.#workers.providers(limit);
  }

  /** Providers that are left alone, with the code and the host of the last failure where it is known, at most
   * `limit`. */
  failures(limit: number): [number, number, string][] {
    return this.#providers.failures(limit);
  }

  /** Providers that could be fetched from, what they wait for, and until when (ms since 1970), at most
   * `limit`. */
  waiting(limit: number): [number, WaitsFor, number | null][] {
    return this.#providers.waiting(limit, pid => this.#unasked.origins.untilMs(pid));
  }

  /** Providers with urls waiting that a delay keeps from being fetched from: one, or all. */
  delayed(pid?: number): number[] {
    return [...this.#providers.delayed(pid), ...this.#unasked.origins.of(pid)];
  }

  /** Until when the bandwidth of all providers together is used up (ms since 1970); null when it is not. */
  get wholeDueAtMs(): number | null {
    return this.#waits.wholeDueAtMs;
  }

  /** Providers with urls that failed, and when the first of those is tried again (ms since 1970), at most
   * `limit`. */
  retrying(limit: number): [number, number][] {
    return this.#retries.times(limit);
  }

  status() {
    const { isBusy, ...queued } = this.#providers.status();
    const inFlight = this.#workers.requests + this.#batch.size;
    return {
      /** Something could be done before the next hour begins. */
      isBusy: isBusy || inFlight > 0 || this.#slots.isBusy,
      in_flight: inFlight,
      results_waiting: this.#batch.size,
      rows_later: this.#slots.rows,
      ...queued,
      logins_refused: this.#refusedLogins.pids,
      logins_lost: [...this.#options.store.providers.withoutLogin].slice(0, NAMED_PROVIDERS),
      retry_at_ms: this.#retries.soonestAtMs(),
      bandwidth_due_at_ms: this.wholeDueAtMs,
      ...this.#table.counts,
      ...this.#batch.counts,
      ...this.#unasked.gate.counts,
    };
  }

  /** Sends whatever may be sent, soon: several calls are one. */
  pump(): void {
    this.#soon.ask();
  }

  #pump(): void {
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#slots.look()) this.#hoursChanged();
    this.#waits.times.look();
    this.#workers.wake(nowMs);
    this.#table.wake(nowMs);
    for (const pid of this.#retries.due(nowMs)) this.#table.setHasUrls(pid, true);
    this.#unasked.origins.wake(nowMs);
    if (!this.#batch.stuck) this.#sendAll(nowMs);
    // safeguard: calling back what has changed on its way
    for (const outdated of this.#workers.outdated(nowMs)) this.#table.recall(outdated);
    // safeguard: recalling lanes
    for (const lane of this.#table.recalls()) this.#workers.get(lane.worker)?.recall(lane.name);
    this.#planWake(nowMs);
  }

  #hoursChanged(): void {
    this.#providers.hoursChanged();
    // safeguard: taking back urls whose own hours end
    for (const lane of this.#workers.closing(hours => this.#slots.permits(hours))) this.#table.recall(lane);
  }

  #sendAll(nowMs: number): void {
    const { clock, maySend = () => true } = this.#options;
    const isLate = () => clock.monotonicMs() - nowMs > PUMP_MS;
    while (maySend() && this.#waits.wholeDueMs <= nowMs) {
      const grant = this.#table.next();
      if (grant === undefined) return;
      const { sent, more } = this.#sending.fill(grant.lane, grant.room, nowMs, isLate);
      this.#table.sent(grant, sent, more);
      if (isLate()) {
        this.#soon.rest();
        return;
      }
    }
  }

  /** Finishes the sets that have no row left, and forgets providers without a set: also one that was known by
   * the entry of a set that went before the set was read. */
  #finishSets(touched: Iterable<Known>): void {
    const all = [...touched];
    const sets = all.flatMap(({ order }) => order.finished());
    if (sets.length > 0) this.#batch.finish(sets, this.isFetching && !this.#stopped);
    for (const { order, provider } of all) {
      if (order.hasSets) continue;
      this.#retries.delete(provider.pid);
      this.#providers.remove(provider.pid);
    }
  }

  /** Everything that a commit changes in memory follows from what it returned. */
  #committed(results: readonly Settled[], tookMs: number): void {
    const nowMs = this.#options.clock.monotonicMs();
    const touched = new Set<Known>();
    for (const settled of results) {
      const { sent } = settled.arrival;
      this.#waits.took(sent.set, tookMs / results.length);
      for (const pid of this.#unasked.over(settled)) this.#table.setHasUrls(pid, true);
      const known = this.#providers.get(sent.pid);
      if (known === undefined) continue;
      touched.add(known);
      if (settled.isAnswer) this.#waits.recovered(known);
      if (this.#settle(known, settled, nowMs)) this.#table.setHasUrls(sent.pid, true);
    }
    this.#finishSets(touched);
    for (const known of touched) this.#retries.plan(known);
    this.#options.committed();
    this.pump();
  }

  /** Meaning of the end of a fetch for the order of its provider's urls. @returns whether the url may be
   * taken again at once */
  #settle({ order, silent }: Known, { arrival, outcome }: Settled, nowMs: number): boolean {
    const { set, pos, tries } = arrival.sent;
    // safeguard: the wait before a retry
    const dueMs = (failed: number) => nowMs + this.#retries.waitMs(failed, arrival.result);
    if (outcome === 'done') order.done(set, pos);
    else if (outcome === 'bad') order.bad(set, pos, tries + 1, dueMs(tries + 1));
    // The host does not answer, others of its provider may. A url that has failed otherwise waits with its
    // like.
    else if (outcome === 'site' && silent.isSpread && tries > 0) order.bad(set, pos, tries, dueMs(tries));
    else if (outcome === 'again' || !silent.isSpread || !order.behind(set, pos)) order.again(set, pos);
    return outcome === 'again' || outcome === 'site';
  }

  #putBack(request: Request): void {
    const { pid, set, pos } = request.arrival;
    for (const waiting of this.#unasked.cameBack(request)) this.#table.setHasUrls(waiting, true);
    this.#providers.get(pid)?.order.again(set, pos);
    this.#table.setHasUrls(pid, true);
  }

  #planWake(nowMs: number): void {
    const dueMs = Math.min(
      this.#table.nextWakeMs(),
      this.#retries.nextMs() ?? Infinity,
      this.#unasked.origins.nextMs() ?? Infinity,
      this.#workers.nextWakeMs(),
      // Nothing else may happen by then.
      this.#waits.wholeDueMs > nowMs ? this.#waits.wholeDueMs : Infinity,
      nowMs + this.#slots.nextLookMs(),
    );
    this.#cancelWake?.();
    this.#cancelWake = this.#options.clock.after(Math.max(1, dueMs - nowMs), () => this.pump());
  }
}
