/** The Bot Managers connected, and the requests on their way to each, in memory only: every one is answered,
 * or put back when its Bot Manager is gone. One with a full store is left without work for a while. */
import type { Hours } from '../config/hours.js';
import type { QueueReader } from '../db/queue/sets.js';
import { doubledMs } from '../lib/backoff.js';
import type { Log } from '../lib/log.js';
import { STORE_FULL } from '../wire/codes.js';
import type { FetchDone, FetchRequest } from '../wire/fetch.js';
import type { Arrival } from './results.js';
import type { Charge } from './schedule/bandwidth.js';
import type { Lane } from './schedule/lane.js';
import type { LaneTable } from './schedule/lanes.js';

/** A Bot Manager as the dispatcher sees it. */
export interface FetchWorker {
  fetch(request: FetchRequest): void;
  /** The urls of the lane that it has not begun come back as `recalled`. */
  recall(lane: string, begun?: boolean): void;
}

/** A url on its way to a Bot Manager. */
export interface Request {
  worker: number;
  lane: Lane;
  arrival: Arrival['sent'];
  /** Bytes charged for the request, and when (monotonic). */
  expected: Charge;
  sentMs: number;
  /** Hours of its url alone. */
  hours: Hours;
  url: string;
  /** Login that the request was sent with. */
  login: string | undefined;
  /** The robots.txt of its origin was asked for in its place. */
  isRobots?: boolean;
}

/** Contents without room in a row from which on a store counts as full. */
const MAX_ROOMLESS = 8;
/** Longest rest of a store that says itself that it has room, in shortest ones. */
const MAX_REST = 32;
/** Time between two looks for requests that the queue has otherwise by now: a look reads a row for each. */
const OUTDATED_PAUSE_MS = 200;

interface Entry {
  worker: FetchWorker;
  slots: number;
  /** True if it takes requests for urls that nobody announced. */
  takesUnasked: boolean;
  /** Monotonic; 0 = it does not rest. */
  restUntilMs: number;
  /** Why it rests. */
  reason: string;
  /** Contents in a row that its store had no room for. */
  roomless: number;
  /** Rests since content last found room: each is longer, so that a machine with room gets what this one has
   * not. */
  rests: number;
}

export class Workers {
  readonly #table: LaneTable;
  readonly #log: Log;
  readonly #workers = new Map<number, Entry>();
  readonly #queue: Pick<QueueReader, 'generation'>;
  /** Requests on their way, by id, the oldest first. */
  readonly #requests = new Map<number, Request>();
  /** Providers with urls that were announced again or deleted, maybe after they were sent ahead. */
  readonly #changed = new Set<number>();
  #changedDueMs = -Infinity;

  /** @param table is told the slots of each */
  constructor(table: LaneTable, log: Log, queue: Pick<QueueReader, 'generation'>) {
    this.#table = table;
    this.#log = log;
    this.#queue = queue;
  }

  get(id: number): FetchWorker | undefined {
    return this.#workers.get(id)?.worker;
  }

  /** True if it does requests for what nobody announced. */
  takesUnasked(id: number): boolean {
    return this.#workers.get(id)?.takesUnasked === true;
  }

  set(id: number, worker: FetchWorker, slots: number, takesUnasked: boolean): void {
    const { restUntilMs = 0, reason = '', roomless = 0, rests = 0 } = this.#workers.get(id) ?? {};
    this.#workers.set(id, { worker, slots, takesUnasked, restUntilMs, reason, roomless, rests });
    this.#table.setWorker(id, restUntilMs > 0 ? 0 : slots);
  }

  /** The worker is gone. @returns what was on its way to it */
  remove(id: number): Request[] {
    this.#workers.delete(id);
    this.#table.removeWorker(id);
    return [...this.#requests]
      .filter(([request]) => this.take(request, id) !== undefined)
      .map(([, request]) => request);
  }

  /** Requests on their way. */
  get requests(): number {
    return this.#requests.size;
  }

  sent(id: number, request: Request): void {
    this.#requests.set(id, request);
  }

  /** A request is answered. @returns undefined when it is not on its way to this Bot Manager */
  take(id: number, worker: number): Request | undefined {
    const request = this.#requests.get(id);
    if (request?.worker !== worker) return undefined;
    this.#requests.delete(id);
    return request;
  }

  /** Calls back all that is on its way, what has begun too. */
  giveUp(): void {
    for (const lane of new Set([...this.#requests.values()].map(request => request.lane))) {
      this.#table.recall(lane);
      this.get(lane.worker)?.recall(lane.name, true);
    }
    // They have been told.
    this.#table.recalls();
  }

  /** Lanes with urls that their hours do not permit any more. */
  *closing(permits: (hours: Hours) => boolean): Generator<Lane> {
    for (const { lane, hours } of this.#requests.values()) if (!permits(hours)) yield lane;
  }

  /** True if anything of the provider is on its way. */
  has(pid: number): boolean {
    for (const { lane } of this.#requests.values()) if (lane.pid === pid) return true;
    return false;
  }

  /** Providers with urls on their way, and how many, at most `limit`. */
  providers(limit: number): [number, number][] {
    const urls = new Map<number, number>();
    for (const { lane } of this.#requests.values()) urls.set(lane.pid, (urls.get(lane.pid) ?? 0) + 1);
    return [...urls].slice(0, limit);
  }

  /** Urls of the provider that waited have changed: what comes of those that are on their way is not
   * believed. */
  changed(pid: number): void {
    this.#changed.add(pid);
  }

  /** Lanes with urls that have changed and that nobody has begun, once it is time for a look: they are called
   * back, so that each page is asked for once. */
  outdated(nowMs: number): Set<Lane> {
    const lanes = new Set<Lane>();
    if (this.#changed.size === 0 || nowMs < this.#changedDueMs) return lanes;
    const begun = new Set<Lane>();
    for (const { lane, arrival } of this.#requests.values()) {
      if (!this.#changed.has(lane.pid) || lane.state === 'recalled') continue;
      // The oldest of a lane is being fetched: it is too late for that one.
      if (!begun.has(lane)) begun.add(lane);
      else if (!lanes.has(lane) && this.#queue.generation(arrival.pos) !== arrival.gen) lanes.add(lane);
    }
    this.#changed.clear();
    this.#changedDueMs = nowMs + OUTDATED_PAUSE_MS;
    return lanes;
  }

  /**
   * Sees whether its store had room for a result. A content too large for it says nothing of others; many in
   * a row say that it is full. One that is full is left alone for `restMs`, or a multiple of it.
   * @returns whether the request was refused for that, and must be made again
   */
  heed(
    id: number,
    result: FetchDone,
    { pid, nowMs, restMs }: { pid: number; nowMs: number; restMs: number },
  ): boolean {
    const entry = this.#workers.get(id);
    const isRoomless = result.status === 'error' && result.code === STORE_FULL;
    if (entry !== undefined && isRoomless) entry.roomless++;
    if (entry !== undefined && result.status === 'ok') entry.roomless = entry.rests = 0;
    if (!isRoomless) return false;
    const isRefused = result.reach !== 'url';
    if (entry === undefined || (!isRefused && entry.roomless < MAX_ROOMLESS)) return isRefused;
    const isNew = entry.restUntilMs === 0;
    if (isNew && !isRefused) entry.rests++;
    const waitMs = doubledMs(
      { minMs: restMs, maxMs: restMs * MAX_REST },
      isRefused ? 1 : Math.max(1, entry.rests),
    );
    const reason = `${result.message} (a url of provider ${pid})`;
    // Reported once, not for each of the requests that were on their way.
    if (isNew) this.#log.warn('Bot Manager cannot store content', { wait_ms: waitMs, pid, reason });
    entry.restUntilMs = Math.max(entry.restUntilMs, nowMs + waitMs);
    entry.reason = reason;
    this.#table.setWorker(id, 0);
    return isRefused;
  }

  /** How long still, and why it rests. */
  restOf(id: number, nowMs: number): { rests_ms: number; reason: string } | undefined {
    const entry = this.#workers.get(id);
    if (entry === undefined || entry.restUntilMs === 0) return undefined;
    return { rests_ms: Math.max(0, Math.round(entry.restUntilMs - nowMs)), reason: entry.reason };
  }

  /** Lets those go on that have rested. */
  wake(nowMs: number): void {
    for (const [id, entry] of this.#workers) {
      if (entry.restUntilMs === 0 || entry.restUntilMs > nowMs) continue;
      entry.restUntilMs = 0;
      this.#table.setWorker(id, entry.slots);
    }
  }

  /** When the next rest ends, or the next look at changed urls is due; Infinity when there is none. */
  nextWakeMs(): number {
    let least = this.#changed.size === 0 ? Infinity : this.#changedDueMs;
    for (const { restUntilMs } of this.#workers.values())
      if (restUntilMs > 0) least = Math.min(least, restUntilMs);
    return least;
  }
}
