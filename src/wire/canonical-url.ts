/**
 * The form by which a url is one url however a page writes it: the Queue Manager, the filters and the crawl
 * compare urls in this form alone. What may be another page on some server stays apart: case, the order of
 * parameters, slashes at the end, `index.html`.
 *
 *     http://EXAMPLE.org:80/%7euser/?utm_source=x#top        http://example.org/~user/
 *     https://example.org/cart;jsessionid=5A2F?id=3          https://example.org/cart?id=3, with its session
 *     http://example.org/find?w=a\b                          http://example.org/find?w=a%5Cb
 */

export interface CanonicalUrl {
  /** By which the page is known. */
  curl: string;
  /** The url to ask for, where it has a session that `curl` does not name. */
  furl?: string;
}

/** Nothing in it can have another form once a URL parser has written it. */
const PLAIN = /^[^%?#;@]*$/;
/** An escape; or a percent sign that is none, with the escapes after it: to decode one of them might make it
 * one. */
const ESCAPES = /%[0-9A-Fa-f]{2}|%[0-9A-Fa-f]?(?:%[0-9A-Fa-f]{2})+/g;
const ESCAPE_LENGTH = 3;
const UNRESERVED = /[A-Za-z0-9._~-]/;
/** Where a visitor came from, and nothing of the page (their names, in any case). */
const TRACKERS = /^(?:utm_[^=]*|fbclid|gclid|msclkid|mc_cid|mc_eid)(?:=|$)/i;
/**
 * Numbers of visitors, where they look like one: of PHP (22 to 256 characters, of 4, 5 or 6 bits each), of
 * ASP (24 letters), and 32 hexadecimal digits of either and of `sid`, which other sites call their pages by;
 * of Java servers in the path.
 */
const SESSIONS =
  /^(?:PHPSESSID=(?:[0-9a-z,-]|%2C){22,256}|ASPSESSIONID[^=]*=(?:[a-z]{24}|[0-9a-f]{32})|sid=[0-9a-f]{32})$/i;
const PATH_SESSIONS = /;jsessionid=[^/;]*/gi;
/** Readings of what is left of a url; nothing that anybody writes needs three. */
const MOST_READINGS = 8;

/**
 * The canonical form of a url.
 * @param base what a relative url is relative to
 * @returns undefined for what is no http or https url, has a login, or cannot be read
 */
export function canonicalUrl(url: string, base?: string): CanonicalUrl | undefined {
  const href = hrefOf(url, base);
  if (href === undefined) return undefined;
  if (PLAIN.test(href)) return { curl: href };
  const furl = settled(href, false);
  const curl = furl === undefined ? undefined : settled(furl, true);
  if (furl === undefined || curl === undefined) return undefined;
  return curl === furl ? { curl } : { curl, furl };
}

/** True if two urls are one. */
export function isSameUrl(one: string, other: string): boolean {
  if (one === other) return true;
  const first = canonicalUrl(one);
  return first !== undefined && first.curl === canonicalUrl(other)?.curl;
}

/** As a URL parser writes it, without its fragment. */
function hrefOf(text: string, base?: string): string | undefined {
  let url: URL;
  try {
    url = new URL(text, base);
  } catch {
    return undefined;
  }
  if ((url.protocol !== 'http:' && url.protocol !== 'https:') || url.username !== '' || url.password !== '')
    return undefined;
  const { href } = url;
  const end = href.indexOf('#');
  return end < 0 ? href : href.slice(0, end);
}

/** Rewritten until it stays as it is: without a session `/..;jsessionid=1/` is another path. */
function settled(href: string, isWithoutSession: boolean): string | undefined {
  for (let reading = 0; reading < MOST_READINGS; reading++) {
    const written = rewritten(href, isWithoutSession);
    if (written === href) return href;
    const read = hrefOf(written);
    if (read === undefined) return undefined;
    href = read;
  }
  return undefined;
}

function rewritten(href: string, isWithoutSession: boolean): string {
  const text = href.includes('%') ? href.replace(ESCAPES, escapesOf) : href;
  const mark = text.indexOf('?');
  const path = mark < 0 ? text : text.slice(0, mark);
  const ownPath = isWithoutSession ? path.replace(PATH_SESSIONS, '') : path;
  const query = mark < 0 ? '' : queryOf(text.slice(mark + 1), isWithoutSession);
  return query === '' ? ownPath : `${ownPath}?${query}`;
}

/** In capitals; what needs none decoded. */
function escapesOf(found: string): string {
  if (found.length !== ESCAPE_LENGTH) return found.toUpperCase();
  const character = String.fromCharCode(Number.parseInt(found.slice(1), 16));
  return UNRESERVED.test(character) ? character : found.toUpperCase();
}

function queryOf(written: string, isWithoutSession: boolean): string {
  // A parser leaves it, as in Shift_JIS; elsewhere it is a slash, and refused.
  const query = written.replaceAll('\\', '%5C');
  const parameters = query.split('&');
  const left = parameters.filter(
    parameter => !TRACKERS.test(parameter) && !(isWithoutSession && SESSIONS.test(parameter)),
  );
  return left.length === parameters.length ? query : left.join('&');
}
