/** Requests on their way into the queue, in slices of one transaction each: what a slice holds is durable,
 * with the position of its feed, when `commit` returns. */
import type { ClearDatabase } from '../../db/clear/database.js';
import type { NewRequest } from '../../db/clear/queue.js';
import type { Clock } from '../../lib/clock.js';
import { step } from '../../lib/steps.js';
import { isFolder } from '../page-url.js';
import { resolveRequest, URL_TYPE, type ResolveOptions, type TargetPage } from '../resolve.js';
import { readTargetMap, type TargetMap } from '../target-map.js';

/** Requests, or pages to publish, of one transaction, and those of one request more: a daemon waits no longer
 * than for these. */
const SLICE_ROWS = 5000;
/** Requests that are remembered, to find what becomes of their pages. */
const REMEMBERED_REQUESTS = 10_000;

interface IntakeTarget {
  db: ClearDatabase;
  clock: Clock;
  resolve: ResolveOptions;
  /** Pages are published (replaced softly) instead. */
  isSoft: boolean;
  /** The feed whose position moves with the requests. */
  cursor: string | undefined;
}

/** Ids of requests, in the order of coming; those of one transaction follow each other. */
export interface IdRange {
  first: number;
  last: number;
}

/** `pages`: to be published; undefined for a request that is queued. */
interface Taken {
  request: NewRequest;
  pages: readonly TargetPage[] | undefined;
}

export class RequestIntake {
  readonly #target: IntakeTarget;
  readonly #map: TargetMap;
  /** Where requests that are durable are in the queue. */
  readonly ranges: IdRange[] = [];
  /** The first of them, up to a number. */
  readonly requests: NewRequest[] = [];
  /** Requests that are durable, or pages that are published. */
  queued = 0;
  /** Those of requests. */
  readonly #targets = new Set<string>();
  #slice: Taken[] = [];
  /** Rows written in the present slice. */
  #sliceRows = 0;
  #seq: number | undefined;
  #isMoved = false;

  constructor(target: IntakeTarget) {
    this.#target = target;
    this.#map = target.db.read(() => readTargetMap(target.db));
    const known = target.cursor === undefined ? undefined : target.db.numbers.cursor(target.cursor);
    this.#seq = known === undefined ? undefined : Number(known);
  }

  /** Targets of requests that no rail is there for. */
  get targetsWithoutRails(): string[] {
    const withRails = new Set(this.#target.db.rails.all().map(({ target }) => target));
    return [...this.#targets].filter(
      target => !this.#map.elementariesOf(target).some(name => withRails.has(name)),
    );
  }

  /** Taken, and not durable yet. */
  get pending(): number {
    return this.#slice.length;
  }

  get isSliceFull(): boolean {
    return this.#sliceRows >= SLICE_ROWS;
  }

  hasTarget(name: string): boolean {
    return this.#map.get(name) !== undefined;
  }

  /** True if a change of the feed was taken before. */
  isKnown(seq: number): boolean {
    return this.#target.cursor !== undefined && this.#seq !== undefined && seq <= this.#seq;
  }

  /** The feed has come so far. */
  moveTo(seq: number): void {
    if (this.#target.cursor === undefined) return;
    this.#seq = seq;
    this.#isMoved = true;
  }

  /**
   * Takes a request; `commit` makes it durable.
   * @returns why it cannot be done; undefined when it is taken
   */
  add(request: NewRequest): string | undefined {
    const { isSoft, resolve } = this.#target;
    // True if a folder has a page is said at once.
    const mayFail = isSoft || (request.contentType === URL_TYPE && isFolder(request.contentId));
    const resolved = mayFail ? resolveRequest(this.#map, request, resolve) : { pages: [] };
    if ('rejected' in resolved) return resolved.rejected;
    const pages = isSoft ? resolved.pages : undefined;
    this.#targets.add(request.target);
    this.#slice.push({ request, pages });
    this.#sliceRows += pages?.length ?? 1;
    return undefined;
  }

  /** @throws LccError of the database: nothing of the slice is in it then */
  commit(): void {
    const { db, clock, cursor } = this.#target;
    const slice = this.#slice;
    if (slice.length === 0 && !this.#isMoved) return;
    const nowMs = clock.nowMs();
    const range = db.write(() => {
      const ids: number[] = [];
      for (const { request, pages } of slice) {
        if (pages === undefined) ids.push(db.queue.add(request, nowMs));
        else for (const page of pages) db.soft.publish({ ...page, contentId: request.contentId }, nowMs);
      }
      if (cursor !== undefined && this.#seq !== undefined) db.numbers.moveCursor(cursor, String(this.#seq));
      const [first] = ids;
      return first === undefined ? undefined : { first, last: ids.at(-1) ?? first };
    });
    step('clear.request.queued');
    this.#slice = [];
    this.#sliceRows = 0;
    this.#isMoved = false;
    this.queued += slice.length;
    if (range !== undefined) this.ranges.push(range);
    for (const { request } of slice)
      if (this.requests.length < REMEMBERED_REQUESTS) this.requests.push(request);
  }
}
