/** How many queries of a path there are: what a program answers has no end. */
import type { CrawlReader } from '../db/cache/crawl.js';

/** Paths whose number is remembered; of another it is counted again. */
const MAX_PATHS = 10_000;

export class PathQueries {
  readonly #db: Pick<CrawlReader, 'queriesOf'>;
  readonly #most: number;
  readonly #counts = new Map<string, number>();

  constructor(db: Pick<CrawlReader, 'queriesOf'>, most: number) {
    this.#db = db;
    this.#most = most;
  }

  /** True if there is room for one more; it is taken. Always for a url without a query. */
  take(pid: number, curl: string): boolean {
    const mark = curl.indexOf('?');
    if (mark < 0) return true;
    const path = curl.slice(0, mark);
    const key = `${pid} ${path}`;
    const count = this.#counts.get(key) ?? this.#db.queriesOf(pid, path, this.#most);
    if (this.#counts.size >= MAX_PATHS) this.#counts.clear();
    this.#counts.set(key, count + (count < this.#most ? 1 : 0));
    return count < this.#most;
  }
}
