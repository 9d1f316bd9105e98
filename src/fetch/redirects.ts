/** Where redirects lead, and whether they may be followed. */
import { isSameUrl } from '../wire/canonical-url.js';
import type { FetchTerms } from '../wire/fetch.js';
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

/** A chain of redirects that sets more wants something else. */
const MAX_COOKIES = 20;
const MAX_CHARS = 4096;
const COOKIE = /^([!#$%&'*+.^_`|~\w-]+)=([\x21-\x3a\x3c-\x7e]*)$/;

/**
 * Cookies within one fetch: a site that sets one and redirects wants it back, and nothing of it outlives the
 * fetch. A cookie goes to the origin that set it, whatever else it says of domains and paths.
 */
class Cookies {
  readonly #of = new Map<string, Map<string, string>>();

  /** @param set values of Set-Cookie */
  take(origin: string, set: readonly string[]): void {
    for (const text of set) {
      const [, name, value] = COOKIE.exec((text.split(';', 1)[0] ?? '').trim()) ?? [];
      if (name === undefined || value === undefined) continue;
      const known = this.#of.get(origin) ?? new Map<string, string>();
      if (isDeletion(text)) known.delete(name);
      else if (known.size < MAX_COOKIES || known.has(name)) known.set(name, value);
      this.#of.set(origin, known);
    }
  }

  /** The value of Cookie; '' for none. */
  headerFor(origin: string): string {
    const pairs = [...(this.#of.get(origin) ?? [])].map(([name, value]) => `${name}=${value}`);
    const header = pairs.join('; ');
    return header.length > MAX_CHARS ? '' : header;
  }
}

function isDeletion(text: string): boolean {
  const [, maxAge] = /;\s*max-age\s*=\s*(-?\d+)/i.exec(text) ?? [];
  return maxAge !== undefined && Number(maxAge) <= 0;
}
