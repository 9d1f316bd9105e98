/**
 * What a result says besides the content that it brings (spidering.md, sections 3 and 4): how often a page changes, whether it is
 * gone, and what its owner's announcement was worth. All methods run inside the caller's transaction.
 */
import { NOISY_S, type AuditLook, type AuditSamples } from '../truth/audits.js';
import type { Gone } from '../truth/gone.js';
import { dayOf, type TruthDays } from '../truth/days.js';
import type { VisitedPage, VisitStore } from '../truth/visits.js';
import type { FuseTerms, HeldStore } from './held-removals.js';
import { FLAG_AUDIT, FLAG_IFABSENT, UNASKED, type QueueRow } from './row.js';

/** How much of a provider goes because a scan or an audit found it gone. */
export interface GoneRules {
  /** Pages of a provider that may go today and yesterday (UTC). @param terms `filesused` with those that went already */
  limit: (terms: FuseTerms, gone: Gone) => number;
  /** One more is gone than that, and stays. Inside a transaction. */
  keptBack: (pid: number, curl: string, removed: number) => void;
  /** From 0 on, below 1; left out: 0. */
  random?: () => number;
}

const NOT_FOUND = 404;
const NO_LIMIT: GoneRules = { limit: () => Infinity, keptBack: () => undefined };

export class Observer {
  readonly #visits: VisitStore;
  readonly #truth: TruthDays;
  readonly #audits: AuditSamples;
  readonly #held: HeldStore;
  readonly #rules: GoneRules;

  constructor(
    stores: { visits: VisitStore; truth: TruthDays; audits: AuditSamples; held: HeldStore },
    rules: GoneRules = NO_LIMIT,
  ) {
    this.#visits = stores.visits;
    this.#truth = stores.truth;
    this.#audits = stores.audits;
    this.#held = stores.held;
    this.#rules = rules;
  }

  /** Content came for a url of which nothing was held. */
  came(pid: number, nowS: number): void {
    this.#truth.count(pid, nowS, 'fresh');
  }

  /** Content came, or what is held was confirmed. @param held before; undefined: nothing */
  fetched(row: QueueRow, held: VisitedPage | undefined, isChanged: boolean, nowS: number): void {
    if (held === undefined) {
      if ((row.flags & UNASKED) === 0) this.came(row.pid, nowS);
      return;
    }
    const before = this.#visits.of(held);
    const today = dayOf(nowS);
    const counts = isClaim(row) && before.scored !== today && !isNoisy(before, nowS);
    if (counts) this.#truth.count(row.pid, nowS, isChanged ? 'changed' : 'same');
    this.#visits.seen(held.id, before, isChanged, nowS, counts ? today : before.scored);
    this.#audited(row, held, isChanged ? 'changed' : 'same', nowS);
  }

  /** What its owner announced as updated is not to be had, for good. */
  brokenWord(row: QueueRow, held: VisitedPage, nowS: number): void {
    const before = this.#visits.of(held);
    if (isClaim(row) && before.scored !== dayOf(nowS) && !isNoisy(before, nowS))
      this.#truth.count(row.pid, nowS, 'failed');
  }

  /** What is held could not be had when nobody had announced it. @returns whether its content goes */
  isGone(row: QueueRow, held: VisitedPage, code: number, nowS: number): boolean {
    const { pid, curl } = row;
    const gone = this.#visits.failed(held, code, nowS);
    if (gone === undefined) {
      this.#audited(row, held, code === NOT_FOUND ? 'missing' : 'failed', nowS);
      return false;
    }
    this.#audited(row, held, 'gone', nowS);
    const terms = this.#held.terms(pid);
    const { removed } = this.#truth.gone(pid, nowS);
    const isPermitted =
      terms === undefined ||
      removed + 1 <= this.#rules.limit({ ...terms, filesused: terms.filesused + removed }, gone);
    this.#truth.count(pid, nowS, isPermitted ? 'removed' : 'keptback');
    if (!isPermitted) {
      this.#visits.keptBack(held, nowS);
      this.#rules.keptBack(pid, curl, removed);
    }
    return isPermitted;
  }

  #audited({ pid, flags }: QueueRow, held: VisitedPage, look: AuditLook, nowS: number): void {
    if ((flags & FLAG_AUDIT) === 0) return;
    const isNoisyNow = isNoisy(this.#visits.of(held), nowS);
    this.#audits.looked(pid, held.id, look, nowS, isNoisyNow, this.#rules.random?.() ?? 0);
  }
}

/** Whether its owner said what is new of it. */
function isClaim({ flags, md5, len, mtime }: QueueRow): boolean {
  return (flags & (UNASKED | FLAG_IFABSENT)) === 0 && (md5 !== null || len !== null || mtime !== null);
}

function isNoisy({ noisyuntil }: { noisyuntil: number | null }, nowS: number): boolean {
  // Further ahead than anything is noted for: the clock was ahead then.
  return noisyuntil !== null && noisyuntil > nowS && noisyuntil <= nowS + NOISY_S;
}
