/**
 * The heart of the Queue Manager: rows of the queue go out to Bot Managers as lanes allow, results come back and are
 * committed. What is on its way is known in memory only; a Bot Manager that vanishes, or a restart, puts it back.
 */
import type { Provider } from '../db/queue/providers.js';
import type { WaitingRow } from '../db/queue/row.js';
import type { WaitingSet } from '../db/queue/sets.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Outcome } from '../db/queue/results.js';
import type { Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';
import { step } from '../lib/steps.js';
import type { FetchResult } from '../wire/fetch.js';
import { backoffMs, type BackoffRules } from './backoff.js';
import { requestOf, validatorsOf } from './request.js';
import { ResultBatch, type Arrival } from './results.js';
import { LaneTable, type Lane, type LaneRules } from './schedule/lanes.js';
import { ProviderOrder } from './schedule/order.js';
import { Workers, type Worker } from './workers.js';

export interface DispatchOptions {
  store: QueueStore;
  clock: Clock;
  log: Log;
  lanes: LaneRules;
  backoff: BackoffRules;
  /** Wait before a bad url is tried again. */
  retryDelayMs: number;
  /** 0 to 1, for jitter. */
  random: () => number;
  /** A transaction failed; true: try again later. */
  failed: (error: unknown) => boolean;
  /** Results were committed: there may be files to delete. */
  committed: () => void;
}

interface InFlight {
  worker: number;
  lane: Lane;
  arrival: Arrival['sent'];
}

interface Known {
  provider: Provider;
  roots: readonly string[];
  order: ProviderOrder<WaitingSet, WaitingRow>;
}

/** A store without room is left alone for as long as a site that does not answer. */
const STORE_FULL = 613;
/** Readings of the queue for one filling of a lane. */
const MAX_ROUNDS = 16;

const COUNTED_AS = { ok: 'stored', unchanged: 'unchanged', error: 'errors' } as const;

export class Dispatcher {
  readonly #options: DispatchOptions;
  readonly #table: LaneTable;
  readonly #batch: ResultBatch;
  readonly #known = new Map<number, Known>();
  readonly #workers: Workers;
  readonly #inFlight = new Map<number, InFlight>();
  /** Providers with urls that failed and wait to be tried again. */
  readonly #retrying = new Set<number>();
  readonly #counts = { stored: 0, unchanged: 0, errors: 0, wire_bytes: 0 };
  #lastId = 0;
  #pumping = false;
  #cancelWake: (() => void) | undefined;
  #stopped = false;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#table = new LaneTable(options.lanes);
    this.#workers = new Workers(this.#table);
    this.#batch = new ResultBatch({
      store: options.store,
      clock: options.clock,
      alongside: (arrival, outcome) => this.#alongside(arrival, outcome),
      committed: (arrivals, outcomes) => this.#committed(arrivals, outcomes),
      failed: options.failed,
    });
  }

  /** Ids of requests, unique over all connections. */
  nextId(): number {
    return ++this.#lastId;
  }

  /** Takes over the sets that waited when this process started. */
  start(): void {
    for (const set of this.#options.store.queue.sets()) this.#addSet(set);
    this.pump();
  }

  /** Writes what has arrived; sends nothing more. */
  stop(): void {
    this.#stopped = true;
    this.#cancelWake?.();
    this.#batch.flush();
  }

  /** A set is complete. */
  addSet(set: WaitingSet): void {
    this.#addSet(set);
    this.pump();
  }

  setWorker(id: number, worker: Worker, slots: number): void {
    this.#workers.set(id, worker, slots);
    this.pump();
  }

  /** A Bot Manager is gone: what it was doing is given to another. */
  removeWorker(id: number): void {
    this.#workers.remove(id);
    for (const [requestId, request] of this.#inFlight) {
      if (request.worker === id) this.#putBack(requestId, request);
    }
    this.pump();
  }

  /** A result. @returns false when it was not asked of this Bot Manager */
  fetched(workerId: number, result: FetchResult): boolean {
    const request = this.#inFlight.get(result.id);
    if (request === undefined || request.worker !== workerId) return false;
    this.#counts.wire_bytes += result.wireBytes;
    if (result.status === 'error' && result.code === STORE_FULL) {
      const { clock, backoff, log } = this.#options;
      log.warn('the store of a Bot Manager is full', { wait_ms: backoff.minMs });
      this.#workers.rest(workerId, clock.monotonicMs() + backoff.minMs);
      this.#putBack(result.id, request);
      this.#table.finished(request.lane);
    } else {
      this.#inFlight.delete(result.id);
      this.#table.finished(request.lane);
      if (result.status === 'error') this.#heed(request, result);
      this.#batch.add({ sent: request.arrival, result });
    }
    this.pump();
    return true;
  }

  /** A file that nobody wants has been deleted. */
  deleted(fid: number): void {
    this.#batch.deleted(fid);
  }

  /** Providers were changed by another process, or by a control: read them again. */
  reload(): void {
    for (const pid of this.#known.keys()) this.#load(pid);
    this.pump();
  }

  /** Forgets delays, of one provider or of all that have urls waiting. @returns how many providers that concerned */
  forgetDelays(pid?: number): number {
    const { store } = this.#options;
    const pids = pid === undefined ? [...this.#known.keys()] : [pid];
    store.transaction(() => pids.forEach(p => store.providers.setBackoff(p, 0, 0)));
    for (const p of pids) {
      this.#known.get(p)?.order.forgetDelays();
      this.#table.release(p);
      this.#table.setHasUrls(p, true);
    }
    this.reload();
    return pids.length;
  }

  status() {
    let sets = 0;
    for (const known of this.#known.values()) sets += known.order.sets;
    return {
      in_flight: this.#inFlight.size + this.#batch.size,
      sets,
      providers: this.#known.size,
      providers_waiting: this.#table.waiting,
      lanes: this.#table.lanes,
      ...this.#counts,
    };
  }

  /** Sends whatever may be sent, soon: calls of one turn of the event loop are one. */
  pump(): void {
    if (this.#pumping || this.#stopped) return;
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      if (!this.#stopped) this.#pump();
    });
  }

  #pump(): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#workers.wake(nowMs);
    this.#table.wake(nowMs);
    for (const pid of this.#retrying) {
      if ((this.#known.get(pid)?.order.nextDueMs() ?? Infinity) <= nowMs) this.#table.setHasUrls(pid, true);
    }
    if (!this.#batch.stuck) {
      for (let grant = this.#table.next(); grant !== undefined; grant = this.#table.next()) {
        const { sent, more } = this.#fill(grant.lane, grant.room, nowMs);
        this.#table.sent(grant, sent, more);
      }
    }
    this.#planWake(nowMs);
  }

  /** Sends up to `room` urls into a lane, and says whether there are more. */
  #fill(lane: Lane, room: number, nowMs: number): { sent: number; more: boolean } {
    const known = this.#known.get(lane.pid);
    const worker = this.#workers.get(lane.worker);
    if (known === undefined || worker === undefined) return { sent: 0, more: false };
    let sent = 0;
    // Urls deleted while they waited may follow each other by the million: other providers go in between.
    for (let round = 0; round < MAX_ROUNDS && sent < room; round++) {
      const taken = known.order.take(room - sent, nowMs);
      if (taken.length === 0) {
        this.#finishSets(known);
        return { sent, more: false };
      }
      for (const { set, row } of taken) {
        if (row.op === 1) {
          this.#send(worker, lane, known, set, row);
          sent++;
        } else {
          const { pos, gen, pid, tries } = row;
          this.#batch.add({
            sent: { pos, gen, pid, tries, set, conditional: false, held: false, dated: false, backoffs: 0 },
            result: undefined,
          });
        }
      }
    }
    return { sent, more: true };
  }

  #send(worker: Worker, lane: Lane, known: Known, set: WaitingSet, row: WaitingRow): void {
    const id = this.nextId();
    const held =
      row.held === 1 ? this.#options.store.content.find(row.pid, row.curl, row.mimetype) : undefined;
    const validators = validatorsOf(row, held);
    const conditional = validators.etag !== undefined || validators.lastModified !== undefined;
    const { pos, gen, pid, tries } = row;
    const { backoffs } = known.provider;
    this.#inFlight.set(id, {
      worker: lane.worker,
      lane,
      arrival: {
        pos,
        gen,
        pid,
        conditional,
        held: held !== undefined,
        dated: row.mtime !== null,
        set,
        tries,
        backoffs,
      },
    });
    const enforce = known.provider.enforce !== 0;
    worker.fetch(requestOf(row, { id, lane: lane.name, roots: known.roots, enforce }, validators));
  }

  #finishSets(known: Known): void {
    const over = known.order.finished();
    if (over.length === 0) return;
    const { store, failed } = this.#options;
    try {
      store.transaction(() => over.forEach(set => store.queue.removeSet(set)));
      step('qm.set.finished');
    } catch (error) {
      // Only an empty entry of qpsdb stays behind; it is found empty after the next start.
      failed(error);
    }
    if (known.order.sets === 0) {
      this.#known.delete(known.provider.pid);
      this.#retrying.delete(known.provider.pid);
      this.#table.removeProvider(known.provider.pid);
    }
  }

  /** What an error says beyond its url: a site that does not answer, or asks to be left alone. */
  #heed(request: InFlight, result: Extract<FetchResult, { status: 'error' }>): void {
    const provider = this.#known.get(request.lane.pid)?.provider;
    if (provider === undefined) return;
    const { clock, backoff, random, log } = this.#options;
    const { pid } = provider;
    let waitMs = 0;
    if (result.reach === 'provider') {
      if (request.arrival.backoffs !== provider.backoffs) return;
      provider.backoffs++;
      waitMs = backoffMs(backoff, provider.backoffs, random());
    }
    waitMs = Math.max(waitMs, Math.min(result.retryAfterMs ?? 0, backoff.maxMs));
    if (waitMs === 0) return;
    const untilS = Math.ceil((clock.nowMs() + waitMs) / 1000);
    provider.backoffuntil = Math.max(provider.backoffuntil, untilS);
    this.#table.delay(pid, clock.monotonicMs() + waitMs, provider.backoffs > 0);
    log.info('provider is left alone', { pid, wait_ms: waitMs, code: result.code, reason: result.message });
  }

  #alongside(arrival: Arrival, outcome: Outcome): void {
    const { sent, result } = arrival;
    const { pid } = sent;
    const provider = this.#known.get(pid)?.provider;
    if (provider === undefined || result === undefined) return;
    const answered = result.status !== 'error' || result.reach !== 'provider';
    // Only what was sent after the last failure shows that the site answers again.
    if (answered && provider.backoffs > 0 && sent.backoffs === provider.backoffs) {
      provider.backoffs = 0;
      provider.backoffuntil = 0;
      this.#options.store.providers.setBackoff(pid, 0, 0);
      this.#table.release(pid);
    } else if (outcome === 'site' || (result.status === 'error' && result.retryAfterMs !== undefined)) {
      this.#options.store.providers.setBackoff(pid, provider.backoffs, provider.backoffuntil);
    }
  }

  #committed(arrivals: readonly Arrival[], outcomes: readonly Outcome[]): void {
    const nowMs = this.#options.clock.monotonicMs();
    const touched = new Set<Known>();
    arrivals.forEach(({ sent, result }, index) => {
      if (result !== undefined) this.#counts[COUNTED_AS[result.status]]++;
      const known = this.#known.get(sent.pid);
      if (known === undefined) return;
      touched.add(known);
      switch (outcomes[index] ?? 'done') {
        case 'done':
          known.order.done(sent.set, sent.pos);
          break;
        case 'again':
        case 'site':
          known.order.again(sent.set, sent.pos);
          this.#table.setHasUrls(sent.pid, true);
          break;
        case 'bad': {
          const tries = sent.tries + 1;
          this.#retrying.add(sent.pid);
          known.order.bad(sent.set, sent.pos, tries, nowMs + this.#options.retryDelayMs * 2 ** (tries - 1));
          break;
        }
      }
    });
    for (const known of touched) this.#finishSets(known);
    this.#options.committed();
    this.pump();
  }

  #putBack(id: number, request: InFlight): void {
    this.#inFlight.delete(id);
    const { pid, set, pos } = request.arrival;
    this.#known.get(pid)?.order.again(set, pos);
    this.#table.setHasUrls(pid, true);
  }

  #addSet(set: WaitingSet): void {
    let known = this.#known.get(set.pid);
    if (known === undefined) {
      const provider = this.#options.store.providers.get(set.pid);
      if (provider === undefined) return;
      known = { provider, roots: [], order: new ProviderOrder(this.#options.store.queue) };
      this.#known.set(set.pid, known);
      this.#load(set.pid);
    }
    known.order.add(set);
    this.#table.setHasUrls(set.pid, true);
  }

  #load(pid: number): void {
    const known = this.#known.get(pid);
    const { store, clock, backoff } = this.#options;
    const provider = store.providers.get(pid);
    if (known === undefined) return;
    if (provider === undefined) {
      this.#table.setStopped(pid, true);
      return;
    }
    known.provider = provider;
    known.roots = store.providers.roots(pid);
    this.#table.setProvider({ pid, priority: provider.priority, parallel: provider.parallel });
    this.#table.setStopped(pid, provider.paused !== 0 || provider.enabled === 0);
    // A clock that was set back must not make it longer than any wait can be.
    const waitMs = Math.min(provider.backoffuntil * 1000 - clock.nowMs(), backoff.maxMs);
    if (waitMs > 0) this.#table.delay(pid, clock.monotonicMs() + waitMs, provider.backoffs > 0);
  }

  #planWake(nowMs: number): void {
    let dueMs = Math.min(this.#table.nextWakeMs() ?? Infinity, this.#workers.nextWakeMs());
    for (const pid of this.#retrying) {
      dueMs = Math.min(dueMs, this.#known.get(pid)?.order.nextDueMs() ?? Infinity);
    }
    this.#cancelWake?.();
    this.#cancelWake = undefined;
    // Node's timers hold 31 bits.
    const delayMs = Math.min(Math.max(1, dueMs - nowMs), 2 ** 31 - 1);
    if (dueMs !== Infinity) this.#cancelWake = this.#options.clock.after(delayMs, () => this.pump());
  }
}
