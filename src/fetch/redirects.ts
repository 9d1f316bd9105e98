/** Where redirects lead, and whether they may be followed. */
import { isSameUrl } from '../wire/canonical-url.js';
import type { FetchTerms } from '../wire/fetch.js';
import { Cookies } from './cookies.js';
import { fail, type FetchFailure } from './failure.js';
import type { ResponseHead } from './head.js';
import type { Manners } from './manners.js';
import { isHttp, isWithin, parseUrl, type Target } from './target.js';

/** RFC 9309, 2.3.1.2: at least five, whatever host they lead to. */
const MAX_INLINE_REDIRECTS = 5;

export class Redirects {
  /** Without fragments, which servers never see, each with the cookies that it got. */
  readonly #visited: Set<string>;
  readonly #cookies: Cookies | undefined;
  readonly #roots: readonly string[];
  readonly #most: number;
  readonly #mostText: string;
  readonly #permitsDowngrade: boolean;
  readonly #isReported: boolean;
  #moved: string | undefined;
  #isBroken = false;

  /** @param from the url that was asked for first */
  constructor(
    from: Target,
    { roots, redirects, inline }: Pick<FetchTerms, 'roots' | 'redirects' | 'inline'>,
    { maxRedirects, redirectLimitText }: { maxRedirects: number; redirectLimitText: string },
    { permitsDowngrade, keepsCookies }: Manners,
  ) {
    this.#visited = new Set([`${from.href.split('#', 1)[0]} `]);
    if (keepsCookies) this.#cookies = new Cookies();
    this.#roots = roots;
    this.#most = inline === undefined ? maxRedirects : MAX_INLINE_REDIRECTS;
    this.#mostText = inline === undefined ? redirectLimitText : String(MAX_INLINE_REDIRECTS);
    this.#permitsDowngrade = permitsDowngrade;
    this.#isReported = redirects === 'report';
  }

  /** True if one was followed. */
  get wereFollowed(): boolean {
    return this.#visited.size > 1;
  }

  /** The url that stands for the first one from now on: the last that an unbroken run of 301 and 308 from the
   * start led to. */
  get moved(): string | undefined {
    return this.#moved;
  }

  /** The value of Cookie for a request of that origin; '' for none. */
  cookieFor(origin: string): string {
    return this.#cookies?.headerFor(origin) ?? '';
  }

  /** @returns the url to go on with, or why not */
  next(head: ResponseHead, from: Target): URL | FetchFailure {
    const to = this.#targetOf(head, from);
    if (!(to instanceof URL)) return to;
    this.#cookies?.take(from.origin, head.cookies ?? []);
    const visit = `${to.href} ${this.cookieFor(to.origin)}`;
    if (this.#visited.has(visit)) return fail('redirect-loop', `${to.href} again`);
    // Where none may be followed, one to another spelling of the same url is reported as well.
    if (this.#isReported && (this.#most === 0 || !isSameUrl(from.href, to.href)))
      return { kind: 'status', status: head.status, location: to.href };
    if (this.#visited.size > this.#most) return fail('too-many-redirects', `more than ${this.#mostText}`);
    if (!isWithin(this.#roots, to)) return fail('redirect-outside', to.href);
    if (!this.#permitsDowngrade && to.protocol === 'http:' && from.origin.startsWith('https:'))
      return fail('redirect-downgrade', to.href);
    this.#visited.add(visit);
    this.#isBroken ||= head.status !== 301 && head.status !== 308;
    if (!this.#isBroken) this.#moved = to.href;
    return to;
  }

  #targetOf(head: ResponseHead, from: Target): URL | FetchFailure {
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
    return isHttp(to) ? to : fail('redirect-outside', to.href);
  }
}
