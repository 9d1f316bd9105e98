import type { Cut } from '../../db/cache/age.js';
import type { FullSetReason } from '../../db/providers/provider-store.js';
import type { QueueStore } from '../../db/queue/store.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import type { Chore } from '../housekeeping.js';

/** Rows looked at in one step; ten million take an hour and a half. */
const PAGE_ROWS = 1000;
const PAGE_PAUSE_MS = 500;
/** Rows removed in one step, and the pause until the next. */
const REMOVED_ROWS = 500;
const REMOVED_PAUSE_MS = 50;
const ROUND_PAUSE_MS = 60_000;
const LONGEST_MARK_MS = 3_600_000;
const SHORTEST_MARK_MS = 1000;
/** Marks in the shorter of the two ages, at least. */
const MARKS = 24;

export interface ContentAgesOptions {
  store: QueueStore;
  clock: Clock;
  log: Log;
  /** A provider silent for this time, or with content this old that is going to expire, is asked for a full
   * set; 0 = never. */
  oldMs: number;
  /** Content not confirmed for this time is removed; 0 = never. */
  expireMs: number;
  /** Something was committed: there may be files to delete. */
  onCommit: () => void;
}

/**
 * Looks after content that has not been confirmed for long: walks all of it in the order of ids, a page at a
 * time, round after round. The place is not kept: a restart begins a new round, which costs nothing but time.
 */
export class ContentAges implements Chore {
  readonly #options: ContentAgesOptions;
  readonly #markMs: number;
  #afterId = 0;

  constructor(options: ContentAgesOptions) {
    this.#options = options;
    const ages = [options.oldMs, options.expireMs].filter(ms => ms > 0);
    this.#markMs = Math.max(SHORTEST_MARK_MS, Math.min(LONGEST_MARK_MS, ...ages.map(ms => ms / MARKS)));
  }

  run(): number {
    const { oldMs, expireMs } = this.#options;
    const roundPauseMs = Math.min(ROUND_PAUSE_MS, this.#markMs);
    if (this.#afterId === 0) this.#askSilent(oldMs);
    if (expireMs === 0) return roundPauseMs;
    this.#mark();
    const expired = this.#cut(expireMs);
    const old = oldMs === 0 ? undefined : this.#cut(oldMs);
    if (expired === undefined && old === undefined) return roundPauseMs;
    const { age } = this.#options.store;
    const end = age.pageEnd(this.#afterId, PAGE_ROWS);
    const toId = end ?? Number.MAX_SAFE_INTEGER;
    if (old !== undefined) this.#want('old files', age.oldProviders(this.#afterId, toId, old));
    if (expired !== undefined && this.#expire(toId, expired)) return REMOVED_PAUSE_MS;
    this.#afterId = end ?? 0;
    return end === undefined ? roundPauseMs : PAGE_PAUSE_MS;
  }

  /** @returns whether there may be more in the page */
  #expire(toId: number, cut: Cut): boolean {
    const { store, log, onCommit } = this.#options;
    const rows = store.age.old(this.#afterId, toId, cut, REMOVED_ROWS);
    const last = rows.at(-1);
    if (last === undefined) return false;
    const pids = new Set(rows.map(row => row.pid));
    const owners = new Set(rows.filter(row => row.hops === null).map(row => row.pid));
    store.transaction(() => {
      store.age.remove(rows, this.#nowS());
      for (const pid of owners) store.providers.wantFullSet('expired files', pid);
    });
    step('qm.expired.committed');
    log.info('content expired', { urls: rows.length, pids: [...pids].join(' ') });
    onCommit();
    this.#afterId = last.id;
    return rows.length === REMOVED_ROWS;
  }

  #askSilent(oldMs: number): void {
    if (oldMs === 0) return;
    const sinceS = Math.floor((this.#options.clock.nowMs() - oldMs) / 1000);
    this.#want('old files', this.#options.store.age.silentProviders(sinceS));
  }

  #want(reason: FullSetReason, pids: readonly number[]): void {
    const { store, log } = this.#options;
    if (pids.length === 0) return;
    store.transaction(() => {
      for (const pid of pids) store.providers.wantFullSet(reason, pid);
    });
    step('qm.wanted.noted');
    for (const pid of pids) log.info('full set wanted', { pid, reason });
  }

  #mark(): void {
    const { store, oldMs, expireMs } = this.#options;
    const nowS = this.#nowS();
    if (!store.age.isMarkDue(nowS, this.#markMs / 1000)) return;
    const keep = this.#marksIn(Math.max(oldMs, expireMs)) + 2;
    store.transaction(() => store.age.mark(nowS, keep));
  }

  #cut(ageMs: number): Cut | undefined {
    return this.#options.store.age.cut(this.#marksIn(ageMs), Math.ceil(ageMs / 1000), this.#nowS());
  }

  #marksIn(ms: number): number {
    return Math.ceil(ms / this.#markMs);
  }

  #nowS(): number {
    return Math.floor(this.#options.clock.nowMs() / 1000);
  }
}
