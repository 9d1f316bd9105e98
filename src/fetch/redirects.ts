/** Where redirects lead, and whether they may be followed. */
import { fail, type FetchFailure } from './failure.js';
import type { ResponseHead } from './head.js';
import type { Manners } from './manners.js';
import { isHttp, isWithin, parseUrl, type Target } from './target.js';

export class Redirects {
  /** Without fragments, which servers never see. */
  readonly #visited: Set<string>;
  readonly #roots: readonly string[];
  readonly #most: number;
  readonly #mostText: string;
  readonly #permitsDowngrade: boolean;
  #moved: string | undefined;
  #isBroken = false;

  /** @param from the url that was asked for first */
  constructor(
    from: Target,
    roots: readonly string[],
    { maxRedirects, redirectLimitText }: { maxRedirects: number; redirectLimitText: string },
    { permitsDowngrade }: Manners,
  ) {
    this.#visited = new Set(from.href.split('#', 1));
    this.#roots = roots;
    this.#most = maxRedirects;
    this.#mostText = redirectLimitText;
    this.#permitsDowngrade = permitsDowngrade;
  }

  /** Whether one was followed. */
  get wereFollowed(): boolean {
    return this.#visited.size > 1;
  }

  /** The url that stands for the first one from now on: the last that an unbroken run of 301 and 308 from the start led to. */
  get moved(): string | undefined {
    return this.#moved;
  }

  /** @returns the url to go on with, or why not */
  next(head: ResponseHead, from: Target): URL | FetchFailure {
    if (head.conflictingLocations) return fail('bad-location', `${head.status} with two Locations`);
    if (head.location === undefined || head.location === '')
      return fail('no-location', `${head.status} with no Location`);
    const to = parseUrl(head.location, from.href);
    if (to === undefined) return fail('bad-location', `${head.status} to an unreadable Location`);
    to.hash = '';
    if (to.username !== '' || to.password !== '') {
      to.username = '';
      to.password = '';
      return fail('redirect-outside', `${to.href} with a login`);
    }
    if (!isHttp(to)) return fail('redirect-outside', to.href);
    if (this.#visited.has(to.href)) return fail('redirect-loop', `${to.href} again`);
    if (this.#visited.size > this.#most) return fail('too-many-redirects', `more than ${this.#mostText}`);
    if (!isWithin(this.#roots, to)) return fail('redirect-outside', to.href);
    if (!this.#permitsDowngrade && to.protocol === 'http:' && from.origin.startsWith('https:'))
      return fail('redirect-downgrade', to.href);
    this.#visited.add(to.href);
    this.#isBroken ||= head.status !== 301 && head.status !== 308;
    if (!this.#isBroken) this.#moved = to.href;
    return to;
  }
}
