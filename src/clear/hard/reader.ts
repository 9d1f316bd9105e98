/**
 * Reads requests, as many as the window has room for, and sees to it that what is done of them is noted.
 *
 *     queued ──read──▶ in flight ──complete──▶ commit ──▶ gone; or, if its key has come again, read again
 *        ╰──▶ rejected
 *
 * While a key is in flight no other request with it is read (D1). Those up to its mark go with it; whether
 * later ones have been passed by is remembered, and they are looked up when it is over (D2).
 */
import type { ClearDatabase } from '../../db/clear/database.js';
import type { RequestKey, RequestRow } from '../../db/clear/queue.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import type { ClearOptions } from '../options.js';
import type { Commits } from '../rails/commits.js';
import type { Fleet } from '../rails/fleet.js';
import { resolveRequest, type TargetPage } from '../resolve.js';
import type { Rail } from '../rails/rail.js';
import { countdown, throughTiers } from '../rails/tiers.js';

interface ReaderOptions {
  db: ClearDatabase;
  fleet: Fleet;
  commits: Commits;
  clock: Clock;
  log: Log;
  limits: Pick<ClearOptions, 'window' | 'resolve' | 'isPaper' | 'commits'>;
  /** The queue cannot be read. */
  fail: (error: unknown) => void;
}

/** Rows of one look, between which others have their turn. */
const LOOK_ROWS = 500;
/** Changes on their way to the disk, as a multiple of those of a commit, at which nothing more is read. */
const MAX_COMMITS_AHEAD = 4;

export class RequestReader {
  readonly #options: ReaderOptions;
  readonly #inFlight = new Map<string, HardWork>();
  /** Keys that have come again while they were in flight. */
  readonly #again = new Map<string, RequestKey>();
  #lastId = 0;
  #pages = 0;
  #isReading = false;
  #isStopped = false;
  completedCount = 0;
  rejectedCount = 0;
  publishedCount = 0;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Requests in flight, by key. */
  get inFlightCount(): number {
    return this.#inFlight.size;
  }

  /** Reads what there is, until there is no more or no room. */
  wake(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#turn();
  }

  stop(): void {
    this.#isStopped = true;
  }

  #turn(): void {
    let hasMore = false;
    try {
      if (this.#mayRead()) hasMore = this.#look();
    } catch (error) {
      this.#options.fail(error);
    }
    if (hasMore) setImmediate(() => this.#turn());
    else this.#isReading = false;
  }

  #mayRead(): boolean {
    const { commits, limits, fleet } = this.#options;
    if (this.#isStopped || commits.trouble !== undefined) return false;
    if (commits.waitingCount >= MAX_COMMITS_AHEAD * limits.commits.maxChanges) return false;
    if (this.#room > 0) return true;
    fleet.spill();
    return this.#room > 0;
  }

  /** Requests that may still be read. */
  get #room(): number {
    const { maxRequests, maxPages } = this.#options.limits.window;
    return this.#pages >= maxPages ? 0 : maxRequests - this.#inFlight.size;
  }

  /** @returns whether there may be more */
  #look(): boolean {
    const { db, fleet } = this.#options;
    const rows: RequestRow[] = [];
    const found = db.read(() => {
      for (const [key, request] of [...this.#again].slice(0, LOOK_ROWS)) {
        this.#again.delete(key);
        const first = db.queue.first(request);
        if (first !== undefined) rows.push(first);
      }
      const read = db.queue.after(this.#lastId, Math.min(LOOK_ROWS, this.#room));
      rows.push(...read);
      // A rail or a path that came before a request is there for it.
      if (rows.length > 0) fleet.follow();
      return this.#worksOf(rows, read);
    });
    for (const work of found) this.#start(work);
    return rows.length > 0 || this.#again.size > 0;
  }

  /** The works for the rows, each key once. */
  #worksOf(rows: readonly RequestRow[], read: readonly RequestRow[]): HardWork[] {
    const { db, limits } = this.#options;
    const works = new Map<string, HardWork>();
    for (const row of rows) {
      const key = keyOf(row);
      const mark = works.get(key)?.mark ?? this.#inFlight.get(key)?.mark;
      if (mark === undefined) {
        const work = this.#workOf(row, doneTogether(db, row, limits.isPaper));
        if (work !== undefined) works.set(key, work);
      } else if (row.id > mark) {
        const flying = this.#inFlight.get(key);
        if (flying !== undefined) flying.isWantedAgain = true;
      }
    }
    this.#lastId = Math.max(this.#lastId, read.at(-1)?.id ?? 0);
    return [...works.values()];
  }

  /** Undefined: it was rejected. */
  #workOf(row: RequestRow, { mark, isForced }: Together): HardWork | undefined {
    const { db, fleet, limits } = this.#options;
    const resolved = resolveRequest(fleet.map, row, limits.resolve);
    if ('rejected' in resolved) {
      this.#reject(row, resolved.rejected);
      return undefined;
    }
    const { contentId, contentType, target } = row;
    const published: TargetPage[] = [];
    const pages = resolved.pages.filter(page => {
      const isSoft = fleet.softRules.isSoft(page);
      // One that is cleared all the same is published, too: what the other daemon puts last is newer then. A
      // publication that came after the request is there when the request was sent before, by a process that
      // was killed.
      if (isSoft || db.soft.isUnderWaySince(page, row.enqueuedMs)) published.push(page);
      return isForced || !isSoft;
    });
    const readSeq = db.numbers.last('publish_seq');
    const key = { contentId, contentType, target };
    return { key, mark, pages, published, readSeq, isWantedAgain: false };
  }

  #reject({ id, contentId, contentType, target }: RequestRow, error: string): void {
    const { db, commits, clock, log } = this.#options;
    const wasPassed = id <= this.#lastId;
    log.warn('request rejected', {
      id,
      content_id: contentId.slice(0, 200),
      type: contentType.slice(0, 200),
      target: target.slice(0, 200),
      error,
    });
    commits.add(
      () => db.queue.reject(id, error, clock.nowMs()),
      () => {
        this.rejectedCount++;
        // Others with its key may have been passed, too.
        const key = { contentId, contentType, target };
        if (wasPassed) this.#again.set(keyOf(key), key);
        this.wake();
      },
    );
  }

  #start(work: HardWork): void {
    const { fleet } = this.#options;
    const { contentId } = work.key;
    const rails = new Map<string, Rail[]>();
    for (const { target, url } of work.pages) {
      const each = rails.get(url) ?? [];
      each.push(...fleet.railsOf(target));
      rails.set(url, each);
    }
    const size = [...rails.values()].flat().length;
    this.#pages += size;
    this.#inFlight.set(keyOf(work.key), work);
    const over = countdown(rails.size, () => {
      this.#pages -= size;
      this.#complete(work);
    });
    for (const [url, each] of rails)
      throughTiers(each, (rail, next) => rail.add({ url, contentId, op: 'D' }, next), over);
  }

  #complete(work: HardWork): void {
    const { db, commits, clock } = this.#options;
    const { key, mark, pages, published, readSeq } = work;
    commits.add(
      () => {
        const nowMs = clock.nowMs();
        // Pages published meanwhile may have been put on a rail before that was asked to clear them.
        if (db.numbers.last('publish_seq') > readSeq)
          for (const page of pages) if (!published.includes(page)) db.soft.publishAgain(page, readSeq, nowMs);
        for (const page of pages) db.journal.add({ ...page, op: 'D', contentId: key.contentId }, nowMs);
        for (const page of published) db.soft.publish({ ...page, contentId: key.contentId }, nowMs);
        db.queue.done(key, mark);
      },
      () => {
        this.completedCount++;
        this.publishedCount += published.length;
        this.#inFlight.delete(keyOf(key));
        if (work.isWantedAgain) this.#again.set(keyOf(key), key);
        this.wake();
      },
    );
  }
}

function keyOf({ contentId, contentType, target }: RequestKey): string {
  return `${target}\0${contentType}\0${contentId}`;
}

/** Equal requests that are done together: all up to `mark`, the number of the last; forced if one is. */
interface Together {
  mark: number;
  isForced: boolean;
}

/**
 * Those that are there before anything is sent: a rail may cache a page again after it was cleared.
 * @param isPaper all that are there at the end, as the paper has it
 */
function doneTogether(db: ClearDatabase, row: RequestRow, isPaper: boolean): Together {
  const { mark, force } = db.queue.covered(row) ?? { mark: row.id, force: row.force === 1 };
  return { mark: isPaper ? Infinity : mark, isForced: force };
}

/**
 * A request that is being carried out: its pages, each for all rails of its target, tier by tier.
 *
 *     resolved ──start──▶ dispatched ──every page is done on every rail, or in its backlog──▶ complete
 */
interface HardWork {
  key: RequestKey;
  /** Number of the last request of its key that this covers. */
  mark: number;
  /** Pages to be cleared. */
  pages: readonly TargetPage[];
  /** Pages that are published instead, or besides. */
  published: readonly TargetPage[];
  /** The last publication of any page when it was read. */
  readSeq: number;
  /** Requests with its key have come since. */
  isWantedAgain: boolean;
}
