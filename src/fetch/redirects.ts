/** Where redirects lead, and whether they may be followed. */
import { failure, type Failure } from './failure.js';
import type { ResponseHead } from './head.js';
import { isHttp, isWithin, parseUrl, type Target } from './target.js';

export class Redirects {
  /** Without fragments, which servers never see. */
  readonly #visited: Set<string>;
  readonly #roots: readonly string[];
  readonly #most: number;

  /** @param from the url that was asked for first */
  constructor(from: Target, roots: readonly string[], most: number) {
    this.#visited = new Set(from.href.split('#', 1));
    this.#roots = roots;
    this.#most = most;
  }

  /** @returns the url to go on with, or why not */
  next(head: ResponseHead, from: Target): URL | Failure {
    if (head.location === undefined || head.location === '' || head.conflictingLocations)
      return failure(611, `${head.status} with ${head.conflictingLocations ? 'two' : 'no'} Locations`);
    const to = parseUrl(head.location, from.href);
    if (to === undefined) return failure(611, `${head.status} to an unreadable Location`);
    to.hash = '';
    if (to.username !== '' || to.password !== '') {
      to.username = '';
      to.password = '';
      return failure(609, `${to.href} with a login`);
    }
    if (!isHttp(to)) return failure(609, to.href);
    if (this.#visited.has(to.href)) return failure(608, `${to.href} again`);
    if (this.#visited.size > this.#most) return failure(608, `more than ${this.#most} (bot.max_redirects)`);
    if (!isWithin(this.#roots, to)) return failure(609, to.href);
    this.#visited.add(to.href);
    return to;
  }
}
