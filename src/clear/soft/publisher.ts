/**
 * Publications brought to the rails.
 *
 *   due ──name noted──▶ ready ──▶ generating ──▶ on its way ──on each rail or backlog──▶ commit ──▶ done
 *    ▲                                │
 *    ╰──in vain, later────────────────┴──gone, the second time──▶ removed from the rails ──▶ commit ──▶ done
 *
 * Names are noted for many pages in one commit, ahead of their generation: a page that is generated never
 * waits for the disk. A page is generated once at a time. While it is on its way it may be published, and
 * generated, again: the newer content takes the place of the older one wherever that waits (rails/unit.ts),
 * and each publication is done when every rail has it, or a newer one, or an entry in its backlog.
 */
import type { ClearDatabase } from '../../db/clear/database.js';
import type { PageKey, PublishedPage } from '../../db/clear/soft.js';
import { backoffMs } from '../../lib/backoff.js';
import type { Clock } from '../../lib/clock.js';
import { Fifo } from '../../lib/fifo.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import { MAX_RETRY_AFTER_MS } from '../outcomes.js';
import { isPutOn } from '../drivers/index.js';
import type { ClearOptions } from '../options.js';
import type { Commits } from '../rails/commits.js';
import type { Fleet } from '../rails/fleet.js';
import type { PageBody } from '../rails/unit.js';
import type { Bodies } from './bodies.js';
import { DuePages } from './due-pages.js';
import { originOf, type Generated, type PageOrigin } from './generator.js';
import { nextStamp, stampedUrl } from './names.js';
import { publishOn, removeNames, removeOn } from './put-and-remove.js';

interface PublisherOptions {
  db: ClearDatabase;
  fleet: Fleet;
  commits: Commits;
  bodies: Pick<Bodies, 'take' | 'release'>;
  source: { generate(origin: PageOrigin, tsUrl: string, url: string): Promise<Generated> };
  clock: Clock;
  log: Log;
  limits: Pick<ClearOptions, 'soft' | 'rail' | 'commits'>;
  fail: (error: unknown) => void;
  random?: () => number;
}

/** A page of which something is under way. */
interface PageAtWork {
  /** True while the page is being generated, or about to be, or its outcome is being noted. */
  isBusy: boolean;
  /** The publication that it is, or was, busy with. */
  takenSeq: number;
  /** True if the page was published again meanwhile. */
  isWantedAgain: boolean;
  /** The last publication that was sent to the rails. */
  sentSeq: number;
  sentMs: number;
  /** Publications on their way. */
  onRails: number;
}

/** A page that is to be generated under a name. */
interface Naming {
  row: PublishedPage;
  page: PageAtWork;
  origin: PageOrigin;
  tsUrl: string;
  /** All that the page was generated under, and that may still be on rails. */
  names: readonly string[];
}

/** Names of a page that is never generated, before they are removed all the same. */
const MOST_NAMES = 16;
const READ_NAMES = 1000;
const DISABLED_RETRY_MS = 60_000;
const GONE = 'gone: ';

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #pages = new Map<string, PageAtWork>();
  readonly #due: DuePages;
  /** Pages that were published again while they were busy, and are not any more. */
  readonly #again = new Map<string, PageKey>();
  /** Named, and not being generated yet. */
  readonly #ready = new Fifo<Naming>();
  /** Pages whose names are being noted. */
  #namingCount = 0;
  #busyCount = 0;
  /** Pages whose contents are being stored. */
  #storingCount = 0;
  /** There may be more that is due. */
  #hasMore = true;
  #isStopped = false;
  generatingCount = 0;
  /** Publications on their way to rails. */
  onRailsCount = 0;
  doneCount = 0;
  generatedCount = 0;
  failedCount = 0;
  goneCount = 0;
  /** Why the last page could not be generated; '' since one could. */
  lastError = '';

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#due = new DuePages(options.db.soft);
  }

  /** Something may have been published: begins whatever is due, as far as there is room. */
  wake(): void {
    this.#hasMore = true;
    this.#go();
  }

  /** Time has passed: the same, also of what is tried again. */
  poll(): void {
    this.#due.rewind(this.#pages.size === 0);
    this.wake();
  }

  stop(): void {
    this.#isStopped = true;
  }

  #go(): void {
    if (this.#isStopped) return;
    try {
      this.#look();
      this.#generateNext();
    } catch (error) {
      this.#options.fail(error);
    }
  }

  #look(): void {
    const { db, commits, clock, limits, fleet } = this.#options;
    if (!this.#hasMore || commits.trouble !== undefined) return;
    const ahead = limits.commits.maxChanges;
    const named = this.#namingCount + this.#ready.length;
    if (named > ahead / 2) return;
    const room = limits.soft.windowPages - this.#busyCount - this.onRailsCount;
    if (room <= 0) return fleet.spill();
    const nowMs = clock.nowMs();
    const rows = db.read(() => {
      const due = this.#readDue(nowMs, Math.min(room, ahead - named));
      // A rail or a rule that came before a publication is there for it.
      if (due.length > 0) fleet.follow();
      return due;
    });
    const namings: Naming[] = [];
    for (const row of rows) this.#consider(row, nowMs, namings);
    if (namings.length > 0) this.#name(namings);
  }

  /** Publications with which something is to be done, each page once. */
  #readDue(nowMs: number, most: number): PublishedPage[] {
    const found = new Map<string, PublishedPage>();
    for (const [key, page] of this.#again) {
      if (found.size === most) break;
      this.#again.delete(key);
      const row = this.#options.db.soft.get(page);
      if (row !== undefined && row.nextTryMs <= nowMs && this.#isToDo(row)) found.set(key, row);
    }
    while (found.size < most) {
      const rows = this.#due.read(nowMs, this.#mostWaitMs, most - found.size);
      for (const row of rows) if (this.#isToDo(row)) found.set(keyOf(row), row);
      if (rows.length > 0) continue;
      this.#hasMore = this.#again.size > 0;
      break;
    }
    return [...found.values()];
  }

  /** The longest that a page waits for another try. */
  get #mostWaitMs(): number {
    const { fleet, limits } = this.#options;
    const { longestIntervalMs } = fleet.softRules;
    return Math.max(MAX_RETRY_AFTER_MS, limits.rail.backoff.maxMs, longestIntervalMs);
  }

  #isToDo(row: PublishedPage): boolean {
    const page = this.#pages.get(keyOf(row));
    if (page === undefined) return row.publishSeq > row.doneSeq;
    if (page.isBusy && row.publishSeq > page.takenSeq) page.isWantedAgain = true;
    return !page.isBusy && row.publishSeq > page.sentSeq;
  }

  /** @param namings where it is put if it is to be generated */
  #consider(row: PublishedPage, nowMs: number, namings: Naming[]): void {
    const { db, fleet } = this.#options;
    const page = this.#enter(row);
    const intervalMs = fleet.softRules.intervalMs(row);
    if (intervalMs === 'disabled')
      return this.#note(row, page, () =>
        db.soft.failed(row, nowMs + DISABLED_RETRY_MS, 'its rules are disabled: lccrail soft'),
      );
    // A clock that was ahead, and is not any more, keeps nothing waiting for longer than that.
    const dueMs = Math.min(nowMs, Math.max(row.doneMs, page.sentMs)) + intervalMs;
    if (intervalMs > 0 && dueMs > nowMs) return this.#note(row, page, () => db.soft.postpone(row, dueMs));
    if (!fleet.railsOf(row.target).some(rail => isPutOn(rail.row)))
      return this.#send(row, page, undefined, []);
    const origin = originOf(fleet.map, row.target);
    if (origin !== undefined) namings.push({ row, page, origin, tsUrl: '', names: [] });
    else
      this.#failed(row, page, {
        kind: 'failed',
        error: `target ${row.target} has no load balancer: lccrail target add --lb-url`,
      });
  }

  #enter(row: PublishedPage): PageAtWork {
    const key = keyOf(row);
    const page = this.#pages.get(key) ?? newPage();
    page.isBusy = true;
    page.takenSeq = row.publishSeq;
    page.isWantedAgain = false;
    this.#busyCount++;
    this.#pages.set(key, page);
    return page;
  }

  /** Nothing is being generated or noted of it any more. */
  #rest(row: PublishedPage, page: PageAtWork): void {
    page.isBusy = false;
    this.#busyCount--;
    if (!page.isWantedAgain) return;
    this.#again.set(keyOf(row), row);
    this.#hasMore = true;
  }

  #leave(row: PublishedPage, page: PageAtWork): void {
    if (!page.isBusy && page.onRails === 0) this.#pages.delete(keyOf(row));
    this.#go();
  }

  /** Notes something of a page that is not generated now. */
  #note(row: PublishedPage, page: PageAtWork, change: () => void): void {
    this.#options.commits.add(change, () => {
      this.#rest(row, page);
      this.#leave(row, page);
    });
  }

  #name(namings: readonly Naming[]): void {
    const { db, commits, clock } = this.#options;
    this.#namingCount += namings.length;
    commits.add(
      () => {
        for (const naming of namings) {
          const { url, target } = naming.row;
          const stampMs = nextStamp(db, clock.nowMs());
          naming.tsUrl = stampedUrl(url, stampMs);
          db.soft.noteGenerated({ tsUrl: naming.tsUrl, url, target }, stampMs);
          naming.names = db.soft.namesOf(naming.row, READ_NAMES);
        }
      },
      () => {
        this.#namingCount -= namings.length;
        for (const naming of namings) {
          step('clear.soft.named');
          this.#ready.push(naming);
        }
        this.#go();
      },
    );
  }

  /** Has as many pages generated as may be at a time; none while as many contents wait for the disk. */
  #generateNext(): void {
    const { limits, source, fail } = this.#options;
    const { generators } = limits.soft;
    while (this.generatingCount < generators && this.#storingCount < generators) {
      const naming = this.#ready.shift();
      if (naming === undefined) return;
      this.generatingCount++;
      source
        .generate(naming.origin, naming.tsUrl, naming.row.url)
        .then(generated => this.#generated(naming, generated))
        .catch(fail);
    }
  }

  async #generated({ row, page, names }: Naming, generated: Generated): Promise<void> {
    const { bodies, fleet } = this.#options;
    this.generatingCount--;
    if (this.#isStopped) return;
    if (generated.kind === 'page') this.#storingCount++;
    this.#go();
    if (generated.kind === 'gone' && row.attempts > 0 && row.lastError?.startsWith(GONE) === true)
      return this.#gone(row, page, names, generated.error);
    if (generated.kind !== 'page') return this.#failed(row, page, generated);
    step('clear.soft.generated');
    const mustSpool = fleet.railsOf(row.target).some(rail => rail.isDown);
    const taken = await bodies.take(generated.bytes, mustSpool);
    this.#storingCount--;
    if (this.#isStopped) return;
    this.#go();
    if (taken === undefined)
      return this.#failed(row, page, {
        kind: 'failed',
        error: 'no room for its content (clear.soft_spool_bytes)',
      });
    this.generatedCount++;
    this.lastError = '';
    this.#send(row, page, { ...taken, seq: row.publishSeq }, names);
  }

  #failed(row: PublishedPage, page: PageAtWork, how: Exclude<Generated, { kind: 'page' }>): void {
    const { db, fleet, clock, limits, commits, log, random = Math.random } = this.#options;
    const error = how.kind === 'gone' ? GONE + how.error : how.error;
    const afterMs = (how.kind === 'failed' && how.afterMs) || 0;
    const waitMs = Math.max(afterMs, backoffMs(limits.rail.backoff, row.attempts + 1, random()));
    this.failedCount++;
    this.lastError = `${row.url}: ${error}`;
    const fields = { url: row.url, target: row.target, error, wait_ms: waitMs };
    if (row.attempts === 0) log.warn('page cannot be generated', fields);
    else log.debug('page cannot be generated', fields);
    commits.add(
      () => db.soft.failed(row, clock.nowMs() + waitMs, error),
      () => {
        step('clear.soft.failed');
        this.#rest(row, page);
        const names = db.soft.namesOf(row, READ_NAMES);
        if (names.length >= MOST_NAMES)
          removeNames(fleet.railsOf(row.target), row.url, names, () => this.#forget(row.target, names));
        this.#leave(row, page);
      },
    );
  }

  #send(row: PublishedPage, page: PageAtWork, body: PageBody | undefined, names: readonly string[]): void {
    const { fleet, clock } = this.#options;
    const { url, target, contentId, publishSeq: seq } = row;
    this.#rest(row, page);
    page.sentSeq = seq;
    page.sentMs = clock.nowMs();
    page.onRails++;
    this.onRailsCount++;
    publishOn(fleet.railsOf(target), { url, contentId, seq, body, names }, () =>
      this.#complete(row, names, () => {
        page.onRails--;
        this.onRailsCount--;
        if (body !== undefined) this.#options.bodies.release(body.sha);
        this.#leave(row, page);
      }),
    );
  }

  /** The load balancer does not have it any more; nothing newer is generated until that is done. */
  #gone(row: PublishedPage, page: PageAtWork, names: readonly string[], error: string): void {
    const { fleet, limits, log } = this.#options;
    const { url, target, contentId } = row;
    const rails = limits.soft.onGone === 'keep' ? [] : fleet.railsOf(target);
    log.info(rails.length === 0 ? 'page is gone, and kept' : 'page is gone: it is removed', {
      url,
      target,
      error,
    });
    this.goneCount++;
    const complete = () =>
      this.#complete(row, names, () => {
        this.#rest(row, page);
        this.#leave(row, page);
      });
    if (limits.soft.onGone === 'keep') removeNames(fleet.railsOf(target), url, names, complete);
    else removeOn(rails, { url, contentId, seq: row.publishSeq, names }, complete);
  }

  #complete(row: PublishedPage, names: readonly string[], after: () => void): void {
    const { db, commits, clock } = this.#options;
    const { url, target, contentId } = row;
    commits.add(
      () => {
        const nowMs = clock.nowMs();
        db.soft.done(row, nowMs);
        db.journal.add({ url, target, contentId, op: 'P' }, nowMs);
        for (const tsUrl of names) db.soft.forgetGenerated({ tsUrl, target });
      },
      () => {
        step('clear.soft.done');
        this.doneCount++;
        after();
      },
    );
  }

  #forget(target: string, names: readonly string[]): void {
    const { db, commits } = this.#options;
    commits.add(() => {
      for (const tsUrl of names) db.soft.forgetGenerated({ tsUrl, target });
    });
  }
}

function keyOf({ url, target }: PublishedPage): string {
  return `${target}\0${url}`;
}

function newPage(): PageAtWork {
  return { isBusy: false, takenSeq: 0, isWantedAgain: false, sentSeq: 0, sentMs: 0, onRails: 0 };
}
