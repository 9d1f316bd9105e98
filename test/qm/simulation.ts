/**
 * Days of a Queue Manager in seconds: the real dispatcher over a real store, a clock that is told the time, and a Bot
 * Manager that takes simulated time for each fetch and notes when it began what.
 */
import assert from 'node:assert/strict';
import { OPEN_GATE } from '../../src/daemon/kept.js';
import type { Clock } from '../../src/lib/clock.js';
import type { WaitingSet } from '../../src/db/queue/sets.js';
import { silentLog, type Log } from '../../src/lib/log.js';
import { controlsOf } from '../../src/qm/controls.js';
import { Dispatcher } from '../../src/qm/dispatch.js';
import type { DispatchOptions } from '../../src/qm/dispatch-options.js';
import type { FetchWorker } from '../../src/qm/workers.js';
import type { FetchDone, FetchInline, FetchRequest } from '../../src/wire/fetch.js';
import type { SetHead } from '../../src/wire/uns-qm.js';
import type { UrlRecord } from '../../src/wire/url.js';
import type { ManualClock } from '../support/manual-clock.js';
import { Bench } from './support.js';

/** What a site answers, and how long it takes. */
export type Site = (
  request: FetchRequest,
  pid: number,
  atMs: number,
) => { result: FetchDone | FetchInline; tookMs: number };

export interface Fetch {
  pid: number;
  url: string;
  lane: string;
  /** Wall clock and monotonic. */
  atMs: number;
  monotonicMs: number;
  /** Undefined while it goes on, and when it was cut off. */
  endMs: number | undefined;
  bytes: number;
  result: FetchDone | FetchInline | undefined;
}

interface Running {
  fetch: Fetch;
  cancel: () => void;
  tookMs: number;
  bytes: number;
}

/** Time a recall takes to a robot. */
export const LATENCY_MS = 20;

/** A Bot Manager with a number of slots: each lane has one url at a time, urls without a slot wait. */
class SimulatedWorker implements FetchWorker {
  readonly #sim: Simulation;
  readonly #slots: number;
  readonly #lanes = new Map<string, FetchRequest[]>();
  readonly #running = new Map<string, Running>();

  constructor(sim: Simulation, slots: number) {
    this.#sim = sim;
    this.#slots = slots;
  }

  /** Number of urls that wait for their turn. */
  get waiting(): number {
    return [...this.#lanes.values()].reduce((sum, requests) => sum + requests.length, 0);
  }

  fetch(request: FetchRequest): void {
    const lane = this.#lanes.get(request.lane);
    if (lane === undefined) this.#lanes.set(request.lane, [request]);
    else lane.push(request);
    this.#begin();
  }

  recall(lane: string): void {
    this.#sim.recalls++;
    this.#sim.clock.after(LATENCY_MS, () => {
      const requests = this.#lanes.get(lane) ?? [];
      this.#lanes.delete(lane);
      for (const { id } of requests) this.#sim.answer(this, { id, status: 'recalled' });
    });
  }

  /** It dies, and what it was fetching with it. */
  kill(): void {
    for (const { fetch, cancel, tookMs, bytes } of this.#running.values()) {
      cancel();
      fetch.bytes = (bytes * (this.#sim.clock.monotonicMs() - fetch.monotonicMs)) / tookMs;
    }
    this.#running.clear();
    this.#lanes.clear();
  }

  #begin(): void {
    for (const [name, requests] of this.#lanes) {
      if (this.#running.size >= this.#slots) return;
      if (this.#running.has(name)) continue;
      const request = requests.shift();
      if (requests.length === 0) this.#lanes.delete(name);
      if (request !== undefined) this.#run(name, request);
    }
  }

  #run(lane: string, request: FetchRequest): void {
    const { clock, site } = this.#sim;
    const pid = Number(lane.split('.')[0]);
    const atMs = clock.nowMs();
    const { result, tookMs } = site(request, pid, atMs);
    const monotonicMs = clock.monotonicMs();
    const fetch: Fetch = {
      pid,
      url: request.url,
      lane,
      atMs,
      monotonicMs,
      endMs: undefined,
      bytes: result.wireBytes,
      result: undefined,
    };
    this.#sim.fetches.push(fetch);
    this.#sim.onBegin(fetch);
    const cancel = clock.after(tookMs, () => {
      this.#running.delete(lane);
      fetch.endMs = clock.monotonicMs();
      fetch.result = result;
      this.#sim.onEnd(fetch);
      this.#sim.answer(this, { ...result, id: request.id });
      this.#begin();
    });
    this.#running.set(lane, { fetch, cancel, tookMs, bytes: result.wireBytes });
  }
}

type Queueing = Pick<
  DispatchOptions,
  | 'slots'
  | 'bandwidthBytesPerS'
  | 'maxContentBytes'
  | 'paceMs'
  | 'accept'
  | 'userAgent'
  | 'window'
  | 'untouchedSets'
  | 'sleepingSets'
  | 'lanes'
  | 'backoff'
  | 'retryDelayMs'
  | 'random'
>;

export interface SimulationOptions extends Partial<Omit<Queueing, 'lanes'>> {
  site: Site;
  startMs?: number;
  workerSlots?: number;
  retries?: number;
  /** A simulation without a safeguard may fetch without end, and has to fail within seconds. */
  maxFetches?: number;
  log?: Log;
  lanes?: Partial<Queueing['lanes']>;
}

/** What is so where a test says nothing else. */
const USUAL: Queueing = {
  slots: 24,
  window: 8,
  untouchedSets: 3,
  sleepingSets: 20_000,
  bandwidthBytesPerS: 0,
  maxContentBytes: 16_000_000,
  paceMs: 0,
  accept: ['text/*'],
  userAgent: 'lccbot/0.1 (+test)',
  lanes: {
    overbookPercent: 0,
    turn: 16,
    sharedWindow: 0,
    ageingMs: 600_000,
    perHost: Infinity,
    perGroup: 2,
  },
  backoff: { minMs: 10_000, maxMs: 86_400_000 },
  retryDelayMs: 10_000,
  random: () => 0.5,
};
const START_MS = Date.UTC(2026, 5, 1);

export class Simulation {
  readonly clock: ManualClock;
  readonly bench: Bench;
  site: Site;
  /** Of transactions that are to be tried again. */
  failure: Error | undefined;
  readonly fetches: Fetch[] = [];
  onBegin: (fetch: Fetch) => void = () => undefined;
  onEnd: (fetch: Fetch) => void = () => undefined;
  recalls = 0;
  /** Of the next Bot Manager: it does requests for what nobody announced. */
  takesUnasked = true;
  readonly #queueing: Queueing;
  readonly #workerSlots: number;
  readonly #maxFetches: number;
  readonly #log: Log;
  #dispatcher!: Dispatcher;
  #worker!: SimulatedWorker;
  #life = { dead: false };
  #workerId = 0;

  constructor(options: SimulationOptions) {
    const {
      site,
      startMs = START_MS,
      workerSlots = 4,
      retries = 3,
      log,
      lanes,
      maxFetches = 20_000,
      ...queueing
    } = options;
    this.#maxFetches = maxFetches;
    this.#log = log ?? silentLog;
    this.#queueing = { ...USUAL, ...queueing, lanes: { ...USUAL.lanes, ...lanes } };
    this.#workerSlots = workerSlots;
    this.site = site;
    this.bench = new Bench({ errorsKept: 100_000, retries });
    this.clock = this.bench.clock;
    this.clock.jumpTo(startMs);
    this.bench.db.pragma('synchronous = OFF');
  }

  /** Starts the Queue Manager, maybe with another period of slots than before, and the Bot Manager. */
  start(slots = this.#queueing.slots): void {
    const life = { dead: false };
    this.#life = life;
    const { clock } = this;
    /** Timers of a process that was killed do not go off. */
    const ownClock: Clock = {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, action) =>
        clock.after(delayMs, () => {
          if (!life.dead) action();
        }),
    };
    this.#dispatcher = new Dispatcher({
      ...this.#queueing,
      slots,
      duty: this.bench.duty,
      store: this.bench.store,
      clock: ownClock,
      log: this.#log,
      failed: error => {
        if (life.dead) return false;
        if (error === this.failure) return true;
        throw error;
      },
      committed: nothing,
      atReturn: action => process.nextTick(action),
    });
    this.#dispatcher.start();
    this.#beginWorker();
  }

  /** Kills the Bot Manager; another one is there at once. */
  loseWorker(): void {
    this.#worker.kill();
    const lostId = this.#workerId;
    this.#beginWorker();
    this.#dispatcher.removeWorker(lostId);
  }

  #beginWorker(): void {
    this.#worker = new SimulatedWorker(this, this.#workerSlots);
    this.#dispatcher.setWorker(++this.#workerId, this.#worker, this.#workerSlots, this.takesUnasked);
  }

  /** Kills both; results that were not committed are lost. */
  async crash(): Promise<void> {
    await quiet();
    this.#life.dead = true;
    this.#worker.kill();
    this.bench.reopen();
    this.bench.db.pragma('synchronous = OFF');
    await quiet();
  }

  /** Ends both, as systemd would. */
  async stop(): Promise<void> {
    await quiet();
    this.#dispatcher.stop();
    this.#life.dead = true;
    this.#worker.kill();
    this.bench.reopen();
    this.bench.db.pragma('synchronous = OFF');
    await quiet();
  }

  async send(pid: number, urls: readonly UrlRecord[], more: Partial<SetHead> = {}): Promise<void> {
    await this.bench.send(pid, urls, more);
    for (const set of this.bench.sets.splice(0)) this.#dispatcher.addSet(set);
    this.#dispatcher.resubmitted(pid, true);
  }

  /** A set that the Queue Manager made itself. */
  take(set: WaitingSet): void {
    this.#dispatcher.addSet(set);
  }

  reload(): void {
    this.#dispatcher.reload();
  }

  /** As the operator's flush does. */
  forgetDelays(pid: number): void {
    controlsOf(this.bench.store, this.#dispatcher, this.#log, this.clock, OPEN_GATE)['flush']?.([
      String(pid),
    ]);
  }

  /** Urls that wait at the Bot Manager. */
  get waiting(): number {
    return this.#worker.waiting;
  }

  /** Providers, and what they wait for until when, but for their turn. */
  waitingFor() {
    return this.#dispatcher.waiting(1000).filter(([, what]) => what !== 'waiting');
  }

  status() {
    return this.#dispatcher.status();
  }

  answer(worker: SimulatedWorker, result: Parameters<Dispatcher['fetched']>[1]): void {
    if (worker === this.#worker) this.#dispatcher.fetched(this.#workerId, result);
  }

  /** Lets time pass until the condition holds, at most `limitMs`. @returns whether it does */
  async until(condition: () => boolean, limitMs: number): Promise<boolean> {
    const endMs = this.clock.monotonicMs() + limitMs;
    for (;;) {
      await quiet();
      assert.ok(this.fetches.length <= this.#maxFetches, 'it fetches without end');
      if (condition()) return true;
      const nextMs = Math.min(this.clock.nextMs() ?? endMs, endMs);
      if (this.clock.monotonicMs() >= endMs) return false;
      this.clock.advance(Math.max(0, nextMs - this.clock.monotonicMs()));
    }
  }

  /** Lets so much time pass. */
  async pass(ms: number): Promise<void> {
    await this.until(() => false, ms);
  }

  close(): void {
    this.#life.dead = true;
    this.#dispatcher.stop();
    this.bench.close();
  }
}

function nothing(): void {}

/** Everything that goes on at once has happened: a pump, and what it set in motion. */
async function quiet(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise<void>(resolve => setImmediate(resolve));
}

/** A random number from 0 to 1, the same sequence for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
