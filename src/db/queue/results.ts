/**
 * Effects of the end of a fetch on the database (semantics.md, rules 11, 12, 14, 16, 17). A result is
 * believed only for the row and generation that was sent: one for another is let go of, and the row, if it
 * still asks for anything, is fetched again.
 */
import { canonicalUrl } from '../../wire/canonical-url.js';
import { LEAVES_ROOTS, OUTSIDE_ROOTS, quotaText, ROBOTS_FORBID } from '../../wire/codes.js';
import { AS_SERVED } from '../../wire/url.js';
import { mtimeOf } from '../../wire/mtime.js';
import { MIMETYPE } from '../../wire/url-check.js';
import type { FetchDone, FetchFailed, FetchOk, FetchRedirect } from '../../wire/fetch.js';
import { beliefConfirmed } from '../cache/as-announced.js';
import type { Arrived, ContentStore, Held } from '../cache/content.js';
import { isSameContent } from '../cache/held.js';
import type { ErrorStore } from '../cache/errors.js';
import type { Failure } from '../cache/failures.js';
import type { ProviderUse, Tally } from '../cache/tally.js';
import type { Db } from '../sqlite/open.js';
import { JointStore } from '../sqlite/sql-store.js';
import {
  claimOf,
  FLAG_DROP_OUTSIDE,
  FLAG_IFABSENT,
  FLAG_PUSH,
  isNeedless,
  isRefreshOnly,
  recordOfRow,
  rowStateOf,
  saidOf,
  UNASKED,
  type QueueRow,
} from './row.js';
import { absenceOf, type AbsentPagesStore } from './absent-pages.js';
import type { Observer } from './observer.js';
import { hasRoomForPushed } from './quota.js';
import type { QueueReader } from './sets.js';

export interface SentRequest {
  pos: number;
  gen: number;
  pid: number;
  /** True if validators were sent. */
  conditional: boolean;
  /** True if content was held. If none was, and the row is still the one that was sent, none is: a url has
   * one row, and nothing but that row's result makes content of it. */
  held: boolean;
  /** True for a url that its owner did not announce, or announced as served: held content may have come
   * otherwise. */
  isSpecial?: boolean;
  /** When it was modified, as the CP said. */
  mtime: string | null;
  /** A redirect was reported that leads to where its provider's urls may be. */
  mayFollow?: boolean;
}

/** Outcome for the row. `done`: it is gone. `again`: it stays, to be fetched at its place. `bad`: it stays,
 * at the end of its set. `site`: it stays, and the provider must be left alone for a while. */
export type Outcome = 'done' | 'again' | 'bad' | 'site';

/** How often a url that failed is tried again. */
export interface RetryRule {
  /** True if a url that has failed so often, and fails once more, has failed for good. */
  isLast: (tries: number) => boolean;
  /** True if it is tried again after this failure. */
  isTriedAgain: (tries: number, failure: Pick<FetchFailed, 'reach' | 'code'>) => boolean;
}

const NO_RETRIES: RetryRule = { isLast: () => true, isTriedAgain: () => false };

/** Seconds of being forbidden by robots.txt after which the content of a page that nobody announced goes. */
const FORBIDDEN_FOR_S = 30 * 86_400;
/** Type for a server that names none. */
const NO_TYPE = 'application/octet-stream';
/** Longer ones are none. */
const MAX_TYPE = 255;

interface ResultStores {
  queue: QueueReader;
  content: ContentStore;
  errors: ErrorStore;
  tally: Tally;
  known: AbsentPagesStore;
  observer: Observer;
}

export class ResultWriter extends JointStore<ResultStores> {
  /** Left out: none is. */
  readonly retries: RetryRule;
  readonly #countTry = this.sql.run<[pos: number]>('UPDATE queued SET tries = tries + 1 WHERE pos = ?');

  constructor(db: Db, stores: ResultStores, retries = NO_RETRIES) {
    super(db, stores);
    this.retries = retries;
  }

  /** Applies one result; undefined when nothing was asked for because the row had been deleted before its
   * turn came. Inside a transaction. */
  apply(sent: SentRequest, result: FetchDone | undefined, nowS: number): Outcome {
    if (result?.status === 'ok' && !sent.held && sent.isSpecial !== true && this.#isNew(sent, result, nowS))
      return 'done';
    const row = this.stores.queue.whole(sent.pos);
    // safeguard: the generation in results
    // safeguard: a delete during the fetch winning
    const state = row && rowStateOf(row, row.slot);
    if (row === undefined || row.gen !== sent.gen || state === 'cancelled' || result === undefined) {
      // safeguard: freeing the file of a result that comes too late
      if (result?.status === 'ok') this.#free(result);
      if (row === undefined) return 'done';
      if (state !== 'cancelled') return 'again';
      this.stores.queue.drop(row);
      return 'done';
    }
    switch (result.status) {
      case 'ok':
        return this.#stored(row, result, nowS);
      case 'unchanged':
        return this.#unchanged(row, sent, result, nowS);
      case 'redirect':
        return this.#redirected(row, result, sent.mayFollow === true, nowS);
      case 'error':
        return this.#failed(row, result, nowS);
    }
  }

  /**
   * The turn of a url that nobody announced has come, and it need not be fetched any more. Inside a
   * transaction.
   * @returns `again` when it is another's by now
   */
  needless(sent: SentRequest): Outcome {
    const row = this.stores.queue.whole(sent.pos);
    if (row === undefined) return 'done';
    if (row.gen !== sent.gen) return 'again';
    this.stores.queue.drop(row);
    return 'done';
  }

  /** The common case: the row is as it was sent, nothing was held, and there is room. @returns false for any
   * other */
  #isNew(sent: SentRequest, result: FetchOk, nowS: number): boolean {
    const use = this.stores.tally.use(sent.pid);
    // safeguard: the quota of files when content arrives
    if (use === undefined || use.filesused + 1 > use.filesmax) return false;
    if (result.len > 0 && use.spaceused + result.len > use.spacemax) return false;
    const url = this.stores.errors.mayBeCured(sent.pid) ? this.stores.queue.whole(sent.pos) : undefined;
    if (!this.stores.content.move(sent, this.#arrived(result, sent.mtime), nowS)) return false;
    if (url !== undefined) this.stores.errors.cured(sent.pid, url);
    this.stores.observer.came(sent.pid, nowS);
    this.stores.queue.drop(sent);
    return true;
  }

  #stored(row: QueueRow, result: FetchOk, nowS: number): Outcome {
    const use = this.stores.tally.use(row.pid);
    const mimetype = row.mimetype === AS_SERVED ? typeServed(result) : row.mimetype;
    const before = this.stores.content.find(row.pid, row.curl, row.mimetype);
    // As served, it may come as a type that its owner gave.
    const isSame = mimetype === row.mimetype || before?.mimetype === mimetype;
    const held = isSame ? before : this.stores.content.find(row.pid, row.curl, mimetype);
    const growth = result.len - ((held ?? before)?.len ?? 0);
    if (
      use === undefined ||
      this.#isUnwanted(row, before) ||
      !this.stores.observer.mayReplace(row, held ?? before, result, nowS)
    ) {
      // The provider was removed while its url was being fetched, or content came that nobody announced has
      // no claim on.
      this.#free(result);
      // safeguard: the quota of files when content arrives
    } else if (held === undefined && before === undefined && use.filesused + 1 > use.filesmax) {
      this.#refused(row, result, 202, use);
    } else if (isPushed(row, held ?? before) && !hasRoomForPushed(use, 1, result.len)) {
      this.#free(result);
    } else if (growth > 0 && use.spaceused + growth > use.spacemax) {
      this.#refused(row, result, 203, use);
      if (before !== undefined) this.stores.content.stamp(before, row.named);
    } else {
      const arrived = this.#arrived(result, row.mtime);
      const { pid, curl } = row;
      const psetid = this.#psetidOf(row, held ?? before);
      const claim = claimOf(row, held ?? before);
      // safeguard: confirming what is held when it comes again
      const isConfirmed = held !== undefined && isSameContent(held, arrived);
      this.stores.observer.fetched(row, held ?? before, !isConfirmed, nowS);
      if (before !== undefined && before !== held) this.stores.content.remove(pid, before, nowS);
      const said = saidOf(row, held ?? before);
      if (isConfirmed) this.stores.content.same(pid, held, said, arrived, psetid, nowS, claim);
      else this.stores.content.store({ pid, curl, mimetype, psetid }, said, arrived, held, nowS, claim);
      this.stores.errors.cured(pid, row);
      // The owner's word has ended it already.
      if ((row.flags & UNASKED) !== 0) this.stores.known.forget(pid, curl);
    }
    this.stores.queue.drop(row);
    return 'done';
  }

  #unchanged(
    row: QueueRow,
    sent: SentRequest,
    result: Extract<FetchDone, { status: 'unchanged' }>,
    nowS: number,
  ): Outcome {
    if (!sent.conditional) {
      const message = '304 although nothing was asked conditionally';
      return this.#failed(row, { ...result, status: 'error', code: 611, reach: 'url', message }, nowS);
    }
    const held = this.stores.content.find(row.pid, row.curl, row.mimetype);
    if (held === undefined) return 'again';
    const confirmation = {
      belief: beliefConfirmed(row, held),
      verified: false,
      etag: result.etag ?? held.etag,
      lastmodified: result.lastModified ?? held.lastmodified,
    };
    this.stores.content.confirm(
      row.pid,
      held,
      saidOf(row, held),
      this.#psetidOf(row, held),
      nowS,
      confirmation,
      claimOf(row, held),
    );
    this.stores.observer.fetched(row, held, false, nowS);
    this.stores.errors.cured(row.pid, row);
    if ((row.flags & UNASKED) !== 0) this.stores.known.forget(row.pid, row.curl);
    this.stores.queue.drop(row);
    return 'done';
  }

  #failed(row: QueueRow, result: FetchFailed, nowS: number): Outcome {
    if (result.reach === 'provider') return 'site';
    if (this.retries.isTriedAgain(row.tries, result)) {
      this.#countTry(row.pos);
      if ((row.flags & UNASKED) === 0) this.stores.errors.addForNow(row.pid, row, failureOf(row, result));
      return 'bad';
    }
    if ((row.flags & UNASKED) !== 0) {
      this.#unaskedFailed(row, result, nowS);
      return 'done';
    }
    const held = this.stores.content.find(row.pid, row.curl, row.mimetype);
    // Nobody asked for what is outside now: what is held of it is as good as it was.
    const asked = result.code !== OUTSIDE_ROOTS;
    if (held !== undefined && asked) {
      if (result.reach === 'real') this.stores.observer.brokenWord(row, held, nowS);
      this.stores.content.remove(row.pid, held, nowS);
    }
    if ((asked && result.code !== LEAVES_ROOTS) || (row.flags & FLAG_DROP_OUTSIDE) === 0)
      this.stores.errors.add(row.pid, recordOfRow(row), result.code, result.message, row.named);
    this.stores.queue.drop(row);
    return 'done';
  }

  /** Nobody is waiting to hear of it, and what is held stays, but where it is gone, or has been forbidden for
   * long. */
  #unaskedFailed(row: QueueRow, { code, reach }: FetchFailed, nowS: number): void {
    const { pid, curl } = row;
    const page = this.stores.content.findAny(pid, curl);
    const held = this.stores.content.find(pid, curl, row.mimetype) ?? (isRefreshOnly(row) ? undefined : page);
    this.stores.queue.drop(row);
    if (isPushed(row, held))
      return void (code !== OUTSIDE_ROOTS && this.stores.observer.missed(row, reach, nowS));
    if (code === OUTSIDE_ROOTS || (held === undefined && page !== undefined)) return;
    if (held !== undefined && code !== ROBOTS_FORBID) {
      if (this.stores.observer.isGone(row, held, code, nowS)) this.#gone(row, held, code, nowS);
      return;
    }
    // A page that was not asked for: that says nothing of it.
    const sinceS = this.stores.known.note(row, { code, absence: absenceOf(code, reach) }, nowS);
    // safeguard: content going that has been forbidden for long
    if (held?.hops != null && nowS - sinceS >= FORBIDDEN_FOR_S) {
      this.stores.content.remove(pid, held, nowS);
    }
  }

  /** The held page is not there any more: no link brings it back for a while. */
  #gone({ pid, curl }: QueueRow, held: Held, code: number, nowS: number): void {
    this.stores.content.remove(pid, held, nowS);
    this.stores.known.note({ pid, curl, hops: held.hops }, { code, absence: 'lost' }, nowS);
  }

  /** A page that nobody announced is elsewhere: the target takes its place in the queue, as a link of as many
   * hops, unless that is held, known, queued, or outside of the roots. */
  #redirected(row: QueueRow, { http, location }: FetchRedirect, mayFollow: boolean, nowS: number): Outcome {
    const { pid, curl, flags } = row;
    if ((flags & UNASKED) === 0) {
      const message = 'a redirect was reported that had to be followed';
      const cost = { id: 0, wireBytes: 0, elapsedMs: 0 };
      return this.#failed(row, { ...cost, status: 'error', code: 611, reach: 'url', message }, nowS);
    }
    const held = this.stores.content.findAny(pid, curl);
    const target = canonicalUrl(location);
    const there = target && this.stores.content.findAny(pid, target.curl);
    // For good: no page is held under two names. Where all lead to one place, a login perhaps, they are not
    // all gone.
    const isMoved = held?.hops != null && (http === 301 || http === 308);
    const isCopy = isMoved && there !== undefined && there.id !== held.id && isSameContent(held, there);
    const goes = held && (isCopy || this.stores.observer.isGone(row, held, http, nowS, isMoved));
    if (goes) this.stores.content.remove(pid, held, nowS);
    const absence = goes && !isCopy ? 'lost' : 'redirect';
    // 303 is a code of ours.
    if (held === undefined || goes)
      this.stores.known.note(row, { code: http === 303 ? 302 : http, absence }, nowS);
    if (
      !mayFollow ||
      target === undefined ||
      target.curl === curl ||
      there !== undefined ||
      this.stores.known.isKnown(pid, target.curl, nowS) ||
      this.stores.queue.has(pid, target.curl)
    ) {
      this.stores.queue.drop(row);
      return 'done';
    }
    this.stores.queue.rename(row, target, flags | FLAG_IFABSENT);
    return 'again';
  }

  /** True if nobody announced it, and it is not wanted any more as it comes. @param before what is held of
   * the url itself */
  #isUnwanted(row: QueueRow, before: Held | undefined): boolean {
    if ((row.flags & UNASKED) === 0) return false;
    const held = isRefreshOnly(row) ? before : this.stores.content.findAny(row.pid, row.curl);
    return isNeedless(row, held, () => false);
  }

  /** The set that named content last: what nobody announced names nothing of its owner's. */
  #psetidOf(row: QueueRow, held: Held | undefined): number {
    return held?.hops === null && (row.flags & UNASKED) !== 0 ? held.psetid : row.named;
  }

  /** Over quota: earlier content stays, what has arrived goes. */
  #refused(row: QueueRow, result: FetchOk, code: 202 | 203, use: ProviderUse): void {
    this.#free(result);
    if ((row.flags & UNASKED) !== 0) return;
    this.stores.errors.add(row.pid, recordOfRow(row), code, quotaText(code, use), row.named);
  }

  /** @param mtime as the CP said */
  #arrived(result: FetchOk, mtime: string | null): Arrived {
    const { lastModified } = result;
    const modified = lastModified ?? result.modifiedNow;
    return {
      md5: result.md5,
      len: result.len,
      mtime: mtime ?? (modified === undefined ? null : (mtimeOf(modified) ?? null)),
      isOlder: mtime !== null && modified !== undefined && this.#servedMs(modified) < Date.parse(mtime),
      etag: result.etag ?? null,
      lastmodified: lastModified ?? null,
      charset: result.charset ?? null,
      finalurl: result.finalUrl ?? null,
      robots: result.robots ?? null,
      verified: result.completeness === 'whole',
      machineid: result.machineId,
      fileid: result.fileId,
    };
  }

  /** NaN for what is no time. What ends like an HTTP date is read by V8 in an eighth of the time: this is
   * done for every url. */
  #servedMs(text: string): number {
    return Date.parse(text.endsWith(' GMT') ? text : (mtimeOf(text) ?? ''));
  }

  #free({ machineId, fileId }: FetchOk): void {
    this.stores.content.free(machineId, fileId);
  }
}

function failureOf({ named }: QueueRow, { code, message }: FetchFailed): Failure {
  return { code, text: message, psetid: named };
}

function typeServed({ mimetype }: FetchOk): string {
  if (mimetype === undefined || mimetype.length > MAX_TYPE || !MIMETYPE.test(mimetype)) return NO_TYPE;
  return mimetype.toLowerCase();
}

/** True if a row was pushed and nothing is held of its url. Failures of such rows are not kept: a sender that
 * invents urls would fill the database with them. */
function isPushed({ flags }: QueueRow, held: Held | undefined): boolean {
  return (flags & FLAG_PUSH) !== 0 && held === undefined;
}
