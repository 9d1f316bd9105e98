/**
 * Waiting until requests are carried out: their rows are gone, what they publish is on its rails, and no rail
 * that is up has a page of theirs in its backlog. Rails that are down have theirs there, and are not waited
 * for.
 */
import type { ClearDatabase } from '../../db/clear/database.js';
import type { Clock } from '../../lib/clock.js';
import { resolveRequest, type ResolveOptions, type TargetPage } from '../resolve.js';
import { alsoOnCaches } from '../path-map.js';
import { readTargetMap, type TargetMap } from '../target-map.js';
import type { IdRange, RequestIntake } from './request-intake.js';

/** `rejected`: at least one could not be carried out, or is given up on a rail. */
export interface WaitResult {
  state: 'done' | 'waiting' | 'rejected';
  /** Requests, or pages of them, that are not carried out. */
  waiting: number;
  /** Lines about pages that cannot be cleared, and about what keeps the others waiting: the first of each. */
  problems: string[];
  /** Rails that are down → pages that wait for them. */
  down: ReadonlyMap<string, number>;
}

const POLL_MS = 50;
/** At most a tenth of the time is spent looking. */
const REST_FACTOR = 9;
const MAX_PROBLEMS = 10;

/**
 * @param timeoutMs Infinity: as long as it takes
 * @param sleep resolves after a time in milliseconds, and keeps the process alive until then
 */
export async function waitForRequests(
  db: ClearDatabase,
  clock: Clock,
  intake: Pick<RequestIntake, 'ranges' | 'requests'>,
  resolve: ResolveOptions,
  timeoutMs: number,
  sleep: (delayMs: number) => Promise<void>,
): Promise<WaitResult> {
  const endMs = clock.monotonicMs() + timeoutMs;
  let pages: PagesOnRails | undefined;
  for (;;) {
    const beginMs = clock.monotonicMs();
    const queued = db.read(() => queuedOf(db, intake.ranges));
    if (queued === 0) {
      pages ??= new PagesOnRails(db, ...pagesOf(db, intake, resolve));
      pages.look();
    }
    const waiting = pages?.waiting ?? queued;
    const nowMs = clock.monotonicMs();
    if (waiting === 0 || nowMs >= endMs) {
      const refused = [...db.read(() => rejectedOf(db, intake.ranges)), ...(pages?.given ?? [])];
      const problems = [...refused, ...(waiting > 0 ? (pages?.reasons ?? []) : [])].slice(0, MAX_PROBLEMS);
      const state = waiting > 0 ? 'waiting' : refused.length > 0 ? 'rejected' : 'done';
      return { state, waiting, problems, down: pages?.down ?? new Map() };
    }
    await sleep(Math.min(Math.max(POLL_MS, (nowMs - beginMs) * REST_FACTOR), endMs - nowMs));
  }
}

/** Pages, until each of them is on every rail that is up. */
class PagesOnRails {
  readonly #db: ClearDatabase;
  /** The first pages that were given up on a rail. */
  readonly given: string[] = [];
  /** The first reasons why pages wait. */
  reasons: string[] = [];
  readonly down = new Map<string, number>();
  readonly #map: TargetMap;
  #left: readonly TargetPage[];

  constructor(db: ClearDatabase, pages: readonly TargetPage[], map: TargetMap) {
    this.#map = map;
    this.#db = db;
    this.#left = pages;
  }

  get waiting(): number {
    return this.#left.length;
  }

  look(): void {
    this.reasons = [];
    this.#left = this.#db.read(() => {
      const rails = this.#db.rails.all();
      return this.#left.filter(page => {
        const own = rails.filter(({ target }) => target === page.target);
        return !this.#isDone(page, own);
      });
    });
  }

  #isDone(page: TargetPage, rails: readonly { name: string; state: 'UP' | 'DOWN' }[]): boolean {
    const published = this.#db.soft.get(page);
    if (published !== undefined && published.publishSeq > published.doneSeq) {
      if (published.lastError !== null) note(this.reasons, `${page.url}: ${published.lastError}`);
      return false;
    }
    const urls = [page.url, ...alsoOnCaches(this.#map, page.target, page.url)];
    const missing = rails.flatMap(({ name, state }) => {
      const entries = urls.map(url => this.#db.backlog.get(name, url));
      return entries.flatMap(entry => (entry === undefined ? [] : [{ ...entry, state }]));
    });
    const waiting = missing.filter(({ state, dead }) => state === 'UP' && dead === 0);
    for (const { rail, lastError } of waiting)
      if (lastError !== '') note(this.reasons, `${page.url} on rail ${rail}: ${lastError}`);
    if (waiting.length > 0) return false;
    for (const { rail, state, dead, lastError } of missing)
      if (dead === 1) note(this.given, `${page.url}: given up on rail ${rail}: ${lastError}`);
      else if (state === 'DOWN') this.down.set(rail, (this.down.get(rail) ?? 0) + 1);
    return true;
  }
}

function note(lines: string[], line: string): void {
  if (lines.length < MAX_PROBLEMS) lines.push(line);
}

function queuedOf(db: ClearDatabase, ranges: readonly IdRange[]): number {
  return ranges.reduce((sum, { first, last }) => sum + db.queue.countBetween(first, last), 0);
}

/** The pages of all requests that are remembered; those that were rejected have none. */
function pagesOf(
  db: ClearDatabase,
  { requests }: Pick<RequestIntake, 'requests'>,
  resolve: ResolveOptions,
): [pages: TargetPage[], map: TargetMap] {
  const map = db.read(() => readTargetMap(db));
  const pages = requests.flatMap(request => {
    const resolved = resolveRequest(map, request, resolve);
    return 'rejected' in resolved ? [] : resolved.pages;
  });
  return [[...new Map(pages.map(page => [`${page.target} ${page.url}`, page])).values()], map];
}

function rejectedOf(db: ClearDatabase, ranges: readonly IdRange[]): string[] {
  return ranges.flatMap(({ first, last }) =>
    db.queue
      .rejections(first - 1, MAX_PROBLEMS + 1)
      .filter(({ id }) => id <= last)
      .map(({ contentId, error }) => `${contentId}: ${error}`),
  );
}
