/** The Bot Managers connected; those with a full store are left without work for a while. */
import type { Log } from '../lib/log.js';
import { STORE_FULL } from '../wire/codes.js';
import type { FetchDone, FetchRequest } from '../wire/fetch.js';
import type { LaneTable } from './schedule/lanes.js';

/** A Bot Manager as the dispatcher sees it. */
export interface FetchWorker {
  fetch(request: FetchRequest): void;
  /** What it has not begun of the lane comes back as `recalled`. */
  recall(lane: string): void;
}

/** Contents without room in a row from which on a store counts as full. */
const MAX_ROOMLESS = 8;
/** Longest rest of a store that says itself that it has room, in shortest ones. */
const MAX_REST = 32;

interface Entry {
  worker: FetchWorker;
  slots: number;
  /** It does requests for what nobody announced. */
  takesUnasked: boolean;
  /** Monotonic; 0 = it does not rest. */
  restUntilMs: number;
  /** Why it rests. */
  reason: string;
  /** Contents in a row that its store had no room for. */
  roomless: number;
  /** Rests since content last found room: each is longer, so that a machine with room gets what this one has not. */
  rests: number;
}

export class Workers {
  readonly #table: LaneTable;
  readonly #log: Log;
  readonly #workers = new Map<number, Entry>();

  /** @param table is told the slots of each */
  constructor(table: LaneTable, log: Log) {
    this.#table = table;
    this.#log = log;
  }

  get(id: number): FetchWorker | undefined {
    return this.#workers.get(id)?.worker;
  }

  /** Whether it does requests for what nobody announced. */
  takesUnasked(id: number): boolean {
    return this.#workers.get(id)?.takesUnasked === true;
  }

  set(id: number, worker: FetchWorker, slots: number, takesUnasked: boolean): void {
    const { restUntilMs = 0, reason = '', roomless = 0, rests = 0 } = this.#workers.get(id) ?? {};
    this.#workers.set(id, { worker, slots, takesUnasked, restUntilMs, reason, roomless, rests });
    this.#table.setWorker(id, restUntilMs > 0 ? 0 : slots);
  }

  remove(id: number): void {
    this.#workers.delete(id);
    this.#table.removeWorker(id);
  }

  /**
   * Sees whether its store had room for a result. A content too large for it says nothing of others; many in a row say that
   * it is full. One that is full is left alone for `restMs`, or a multiple of it.
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
    const waitMs = restMs * (isRefused ? 1 : Math.min(MAX_REST, 2 ** Math.max(0, entry.rests - 1)));
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

  /** When the next rest ends, Infinity when none is running. */
  nextWakeMs(): number {
    let least = Infinity;
    for (const { restUntilMs } of this.#workers.values())
      if (restUntilMs > 0) least = Math.min(least, restUntilMs);
    return least;
  }
}
