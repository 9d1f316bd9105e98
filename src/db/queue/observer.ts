/**
 * Meaning of a result besides the content that it brings (spidering.md, sections 3 and 4): how often a page
 * changes, whether it is gone, and what its owner's announcement was worth. All methods run inside the
 * caller's transaction.
 */
import { setNewest } from '../../lib/newest.js';
import type { ErrorReach } from '../../wire/fetch.js';
import { isSameContent, type Held } from '../cache/held.js';
import { NOISY_S, type AuditLook, type AuditSamples } from '../truth/audits.js';
import { GONE, type Gone } from '../truth/gone.js';
import { dayOf, type TruthDays } from '../truth/days.js';
import type { VisitedPage, VisitStore } from '../truth/visits.js';
import type { PushDays, PushLook } from '../truth/pushes.js';
import type { FuseTerms, HeldStore } from './held-removals.js';
import { FLAG_AUDIT, FLAG_FEED, FLAG_IFABSENT, FLAG_PUSH, UNASKED, type QueueRow } from './row.js';

/** How much of a provider goes because a scan or an audit found it gone. */
export interface GoneRules {
  /** Pages of a provider that may go today and yesterday (UTC). @param terms `filesused` with those that went
   * already */
  limit: (terms: FuseTerms, gone: Gone) => number;
  /** One more is gone than that, and stays. Inside a transaction. */
  keptBack: (pid: number, curl: string, removed: number) => void;
  /** From 0 on, below 1; left out: 0. */
  random?: () => number;
}

type HeldPage = VisitedPage & Pick<Held, 'md5' | 'len'>;

const NOT_FOUND = 404;
/** A push of a page that was fetched so lately and is as it was says nothing. */
const TOLD_S = 3600;
/** Status of a page that is what others are by now. */
const SAME_AS_OTHERS = 200;
/** Providers of which the last change is remembered. */
const MOST_CHANGES = 1000;
const NO_LIMIT: GoneRules = { limit: () => Infinity, keptBack: () => undefined };

interface ObservingStores {
  visits: VisitStore;
  truth: TruthDays;
  pushes: PushDays;
  audits: AuditSamples;
  held: HeldStore;
}

export class Observer {
  readonly #stores: ObservingStores;
  readonly #rules: GoneRules;
  /** By provider: md5 of the page that the last unasked look found changed, as it was and as it is. */
  readonly #lastChanges = new Map<number, { from: string; to: string }>();

  constructor(stores: ObservingStores, rules: GoneRules = NO_LIMIT) {
    this.#stores = stores;
    this.#rules = rules;
  }

  /** Content came for a url of which nothing was held. */
  came(pid: number, nowS: number): void {
    this.#stores.truth.count(pid, nowS, 'fresh');
  }

  /** Content came, or what is held was confirmed. @param held before; undefined: nothing */
  fetched(row: QueueRow, held: VisitedPage | undefined, isChanged: boolean, nowS: number): void {
    if (held === undefined) {
      if ((row.flags & UNASKED) === 0) this.came(row.pid, nowS);
      this.#pushed(row, 'changed', nowS);
      return;
    }
    // An owner, a plugin and a feed often report one and the same change.
    const isToldOf = nowS - held.fetched_time < TOLD_S;
    this.#pushed(row, isChanged ? 'changed' : isToldOf ? 'busy' : 'same', nowS);
    const before = this.#stores.visits.of(held);
    const today = dayOf(nowS);
    const counts = isClaim(row) && before.scored !== today && !isNoisy(before, nowS);
    if (counts) this.#stores.truth.count(row.pid, nowS, isChanged ? 'changed' : 'same');
    this.#stores.visits.seen(held.id, before, isChanged, nowS, counts ? today : before.scored);
    this.#audited(row, held, isChanged ? 'changed' : 'same', nowS);
  }

  /** A page that its owner announced as updated is not to be had, for good. */
  brokenWord(row: QueueRow, held: VisitedPage, nowS: number): void {
    const before = this.#stores.visits.of(held);
    if (isClaim(row) && before.scored !== dayOf(nowS) && !isNoisy(before, nowS))
      this.#stores.truth.count(row.pid, nowS, 'failed');
  }

  /** A url was pushed that is neither held nor to be had. */
  missed(row: QueueRow, reach: ErrorReach, nowS: number): void {
    this.#pushed(row, reach === 'real' ? 'failed' : 'busy', nowS);
  }

  #pushed({ pid, flags }: QueueRow, look: PushLook, nowS: number): void {
    if ((flags & FLAG_PUSH) === 0) return;
    this.#stores.pushes.count(pid, (flags & FLAG_FEED) === 0 ? 'indexnow' : 'feed', look, nowS);
  }

  /**
   * Content came. Where pages that differed become one and the same when nobody has announced it, one after
   * the other, the site shows a login or says that it is under repair: they count as pages that are gone. An
   * audit judges by a second look.
   * @returns whether it may replace what is held
   */
  mayReplace(
    row: QueueRow,
    held: HeldPage | undefined,
    came: { md5: string; len: number },
    nowS: number,
  ): boolean {
    const { pid, flags } = row;
    if ((flags & UNASKED) === 0 || (flags & FLAG_AUDIT) !== 0) return true;
    if (held === undefined || isSameContent(held, came)) return true;
    const last = this.#lastChanges.get(pid);
    setNewest(this.#lastChanges, pid, { from: held.md5, to: came.md5 }, MOST_CHANGES);
    if (last?.to !== came.md5 || last.from === held.md5) return true;
    return this.isGone(row, held, SAME_AS_OTHERS, nowS, true);
  }

  /**
   * A held page could not be had when nobody had announced it.
   * @param isElsewhere it has moved for good, or is what others are by now
   * @returns whether its content goes
   */
  isGone(row: QueueRow, held: VisitedPage, code: number, nowS: number, isElsewhere = false): boolean {
    const { pid, curl } = row;
    const gone = saidGone(row, code) ?? this.#stores.visits.failed(held, code, nowS, isElsewhere);
    if (gone === undefined) {
      this.#pushed(row, 'busy', nowS);
      this.#audited(row, held, code === NOT_FOUND ? 'missing' : 'failed', nowS);
      return false;
    }
    this.#audited(row, held, 'gone', nowS);
    const terms = this.#stores.held.terms(pid);
    const { removed } = this.#stores.truth.gone(pid, nowS);
    const isPermitted =
      terms === undefined ||
      removed + 1 <= this.#rules.limit({ ...terms, filesused: terms.filesused + removed }, gone);
    this.#stores.truth.count(pid, nowS, isPermitted ? 'removed' : 'keptback');
    this.#pushed(row, isPermitted ? 'gone' : 'busy', nowS);
    if (!isPermitted) {
      this.#stores.visits.keptBack(held, nowS);
      this.#rules.keptBack(pid, curl, removed);
    }
    return isPermitted;
  }

  #audited({ pid, flags }: QueueRow, held: VisitedPage, look: AuditLook, nowS: number): void {
    if ((flags & FLAG_AUDIT) === 0) return;
    const isNoisyNow = isNoisy(this.#stores.visits.of(held), nowS);
    this.#stores.audits.looked(pid, held.id, look, nowS, isNoisyNow, this.#rules.random?.() ?? 0);
  }
}

/** The answer to a push is believed at once. */
function saidGone({ flags }: QueueRow, code: number): Gone | undefined {
  if ((flags & FLAG_PUSH) === 0) return undefined;
  return code === GONE ? 'said' : code === NOT_FOUND ? 'missed' : undefined;
}

/** True if its owner said what is new of it. */
function isClaim({ flags, md5, len, mtime }: QueueRow): boolean {
  return (flags & (UNASKED | FLAG_IFABSENT)) === 0 && (md5 !== null || len !== null || mtime !== null);
}

function isNoisy({ noisyuntil }: { noisyuntil: number | null }, nowS: number): boolean {
  // Further ahead than anything is noted for: the clock was ahead then.
  return noisyuntil !== null && noisyuntil > nowS && noisyuntil <= nowS + NOISY_S;
}
