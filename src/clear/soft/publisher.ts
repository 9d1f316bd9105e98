/**
 * Publications brought to the rails.
 *
 *     due ──name noted──▶ generating ──▶ on its way to the rails ──on each of them, or in its backlog──▶ commit ──▶ done
 *      ▲                      │
 *      ╰──in vain, later──────┴──gone, the second time──▶ removed from the rails ──▶ commit ──▶ done
 *
 * A page is generated once at a time. While it is on its way it may be published, and generated, again: the newer content takes
 * the place of the older one wherever that waits (rails/unit.ts), and each publication is done when every rail has it, or a
 * newer one, or an entry in its backlog.
 */
import type { ClearDatabase } from '../../db/clear/database.js';
import type { PublishedPage } from '../../db/clear/soft.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import { tryAgainMs } from '../backoff.js';
import type { ClearOptions } from '../options.js';
import type { Commits } from '../rails/commits.js';
import type { Fleet } from '../rails/fleet.js';
import type { PageBody } from '../rails/unit.js';
import type { TargetMap } from '../target-map.js';
import type { Bodies } from './bodies.js';
import { originOf, type Generated, type PageSource } from './generator.js';
import { stampedUrl } from './names.js';
import { isPutOn, publishOn, removeNames, removeOn } from './on-rails.js';
import { SoftRules } from './rules.js';

export interface PublisherOptions {
  db: ClearDatabase;
  fleet: Fleet;
  commits: Commits;
  bodies: Bodies;
  source: PageSource;
  clock: Clock;
  log: Log;
  limits: Pick<ClearOptions, 'soft' | 'rail'>;
  fail: (error: unknown) => void;
  random?: () => number;
}

/** A page of which something is under way. */
interface PageAtWork {
  /** It is being generated, or what came of that is being noted. */
  isBusy: boolean;
  /** The last publication that was sent to the rails. */
  sentSeq: number;
  sentMs: number;
  /** Publications on their way. */
  onRails: number;
}

/** Names of a page that is never generated, before they are removed all the same. */
const MOST_NAMES = 16;
const READ_NAMES = 1000;
const DISABLED_RETRY_MS = 60_000;
const GONE = 'gone: ';

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #pages = new Map<string, PageAtWork>();
  #rules: { map: TargetMap; rules: SoftRules } | undefined;
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
  }

  /** Begins whatever is due, as far as there is room. */
  wake(): void {
    try {
      this.#look();
    } catch (error) {
      this.#options.fail(error);
    }
  }

  stop(): void {
    this.#isStopped = true;
  }

  #look(): void {
    const { db, commits, clock, limits, fleet } = this.#options;
    if (this.#isStopped || commits.trouble !== undefined) return;
    const room = limits.soft.windowPages - this.onRailsCount;
    if (room <= 0) fleet.spill();
    const free = Math.min(limits.soft.generators - this.generatingCount, room);
    if (free <= 0) return;
    const nowMs = clock.nowMs();
    const rows = db.read(() => {
      const due = db.soft.due(nowMs, this.#pages.size + free);
      // A rail or a rule that came before a publication is there for it.
      if (due.length > 0) fleet.follow();
      this.#readRules();
      return due;
    });
    for (const row of rows) {
      if (this.generatingCount >= limits.soft.generators) return;
      const page = this.#pages.get(keyOf(row));
      if (page === undefined || (!page.isBusy && page.sentSeq < row.publishSeq)) this.#consider(row, nowMs);
    }
  }

  #readRules(): void {
    const { db, fleet } = this.#options;
    if (this.#rules?.map !== fleet.map)
      this.#rules = { map: fleet.map, rules: new SoftRules(db.soft.rules(), fleet.map) };
  }

  #consider(row: PublishedPage, nowMs: number): void {
    const { db } = this.#options;
    const page = this.#enter(row);
    const intervalMs = this.#rules?.rules.intervalMs(row) ?? 0;
    if (intervalMs === 'disabled')
      return this.#note(row, page, () =>
        db.soft.failed(row, nowMs + DISABLED_RETRY_MS, 'its rules are disabled: lccrail soft'),
      );
    const dueMs = Math.max(row.doneMs, page.sentMs) + intervalMs;
    if (intervalMs > 0 && dueMs > nowMs) return this.#note(row, page, () => db.soft.postpone(row, dueMs));
    this.#generate(row, page);
  }

  #enter(row: PublishedPage): PageAtWork {
    const key = keyOf(row);
    const page = this.#pages.get(key) ?? { isBusy: false, sentSeq: 0, sentMs: 0, onRails: 0 };
    page.isBusy = true;
    this.#pages.set(key, page);
    return page;
  }

  #leave(row: PublishedPage, page: PageAtWork): void {
    if (!page.isBusy && page.onRails === 0) this.#pages.delete(keyOf(row));
    this.wake();
  }

  /** Notes something of a page that is not generated now. */
  #note(row: PublishedPage, page: PageAtWork, change: () => void): void {
    this.#options.commits.add(change, () => {
      page.isBusy = false;
      this.#leave(row, page);
    });
  }

  #generate(row: PublishedPage, page: PageAtWork): void {
    const { db, fleet, commits, clock, source, fail } = this.#options;
    this.generatingCount++;
    if (!fleet.railsOf(row.target).some(rail => isPutOn(rail.row))) return this.#send(row, page, undefined);
    const origin = originOf(fleet.map, row.target);
    if (origin === undefined)
      return this.#failed(row, page, {
        kind: 'failed',
        error: `target ${row.target} has no load balancer: lccrail target add --lb-url`,
      });
    let tsUrl = '';
    commits.add(
      () => {
        const stampMs = db.numbers.raise('last_stamp', clock.nowMs());
        tsUrl = stampedUrl(row.url, stampMs);
        db.soft.noteGenerated({ tsUrl, url: row.url, target: row.target }, stampMs);
      },
      () => {
        step('clear.soft.named');
        if (this.#isStopped) return;
        source
          .generate(origin, tsUrl)
          .then(generated => this.#generated(row, page, generated))
          .catch(fail);
      },
    );
  }

  async #generated(row: PublishedPage, page: PageAtWork, generated: Generated): Promise<void> {
    const { bodies, fleet } = this.#options;
    if (this.#isStopped) return;
    if (generated.kind === 'gone' && row.attempts > 0 && row.lastError?.startsWith(GONE) === true)
      return this.#gone(row, page, generated.error);
    if (generated.kind !== 'page') return this.#failed(row, page, generated);
    step('clear.soft.generated');
    const mustSpool = fleet.railsOf(row.target).some(rail => rail.isDown);
    const taken = await bodies.take(generated.bytes, mustSpool);
    if (this.#isStopped) return;
    if (taken === undefined)
      return this.#failed(row, page, {
        kind: 'failed',
        error: 'no room for its content (clear.soft_spool_bytes)',
      });
    this.generatedCount++;
    this.lastError = '';
    this.#send(row, page, { ...taken, seq: row.publishSeq });
  }

  #failed(row: PublishedPage, page: PageAtWork, how: Exclude<Generated, { kind: 'page' }>): void {
    const { db, fleet, clock, limits, commits, log, random = Math.random } = this.#options;
    const error = how.kind === 'gone' ? GONE + how.error : how.error;
    const afterMs = (how.kind === 'failed' && how.afterMs) || 0;
    const waitMs = Math.max(afterMs, tryAgainMs(row.attempts + 1, limits.rail.backoff, random()));
    this.failedCount++;
    this.lastError = `${row.url}: ${error}`;
    const fields = { url: row.url, target: row.target, error, wait_ms: waitMs };
    if (row.attempts === 0) log.warn('page cannot be generated', fields);
    else log.debug('page cannot be generated', fields);
    commits.add(
      () => db.soft.failed(row, clock.nowMs() + waitMs, error),
      () => {
        step('clear.soft.failed');
        this.#notGenerating(page);
        const names = db.soft.namesOf(row, READ_NAMES);
        if (names.length >= MOST_NAMES)
          removeNames(fleet.railsOf(row.target), row.url, names, () => this.#forget(row.target, names));
        this.#leave(row, page);
      },
    );
  }

  #notGenerating(page: PageAtWork): void {
    page.isBusy = false;
    this.generatingCount--;
  }

  #send(row: PublishedPage, page: PageAtWork, body: PageBody | undefined): void {
    const { db, fleet, clock } = this.#options;
    const { url, target, contentId, publishSeq: seq } = row;
    const names = db.soft.namesOf(row, READ_NAMES);
    this.#notGenerating(page);
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
  #gone(row: PublishedPage, page: PageAtWork, error: string): void {
    const { db, fleet, limits, log } = this.#options;
    const { url, target, contentId } = row;
    const rails = limits.soft.onGone === 'keep' ? [] : fleet.railsOf(target);
    log.info(rails.length === 0 ? 'page is gone, and kept' : 'page is gone: it is removed', {
      url,
      target,
      error,
    });
    this.goneCount++;
    const names = db.soft.namesOf(row, READ_NAMES);
    const complete = () =>
      this.#complete(row, names, () => {
        this.#notGenerating(page);
        this.#leave(row, page);
      });
    if (limits.soft.onGone === 'keep') removeNames(fleet.railsOf(target), url, names, complete);
    else removeOn(rails, { url, contentId, names }, complete);
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
