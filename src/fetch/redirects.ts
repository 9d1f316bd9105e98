/** Where redirects lead, and whether they may be followed. */
import { fail, type FetchFailure } from './failure.js';
import type { ResponseHead } from './head.js';
import { isHttp, isWithin, parseUrl, type Target } from './target.js';

export class Redirects {
  /** Without fragments, which servers never see. */
  readonly #visited: Set<string>;
  readonly #roots: readonly string[];
  readonly #most: number;
  readonly #mostText: string;

  /** @param from the url that was asked for first */
  constructor(from: Target, roots: readonly string[], most: number, mostText: string) {
    this.#visited = new Set(from.href.split('#', 1));
    this.#roots = roots;
    this.#most = most;
    this.#mostText = mostText;
  }

  /** @returns the url to go on with, or why not */
  next(head: ResponseHead, from: Target): URL | FetchFailure {
    if (head.location === undefined || head.location === '' || head.conflictingLocations)
      return fail('malformed', `${head.status} with ${head.conflictingLocations ? 'two' : 'no'} Locations`);
    const to = parseUrl(head.location, from.href);
    if (to === undefined) return fail('malformed', `${head.status} to an unreadable Location`);
    to.hash = '';
    if (to.username !== '' || to.password !== '') {
      to.username = '';
      to.password = '';
      return fail('redirect-outside', `${to.href} with a login`);
    }
    if (!isHttp(to)) return fail('redirect-outside', to.href);
    if (this.#visited.has(to.href)) return fail('redirect-loop', `${to.href} again`);
    if (this.#visited.size > this.#most) return fail('redirect-loop', `more than ${this.#mostText}`);
    if (!isWithin(this.#roots, to)) return fail('redirect-outside', to.href);
    this.#visited.add(to.href);
    return to;
  }
}
