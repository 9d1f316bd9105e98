/** Where a fetch may go: the url asked for, and every redirect. */
import { strictRootCheck } from '../wire/roots.js';

/** A parsed http or https url. */
export interface Target {
  origin: string;
  /** Path and query of the request. */
  path: string;
  /** All of it, also a fragment. */
  href: string;
}

/** The part after an origin that every parser leaves as it is, if it has no dot segments: nothing in it is or
 * needs encoding. */
const PLAIN_PATH = /^\/[\w~!$&()*+,=@/.:;-]*(?:\?[\w~!$&()*+,=@/.:;?-]*)?$/;

/** Origins that urls began with, spelt as parsers spell them. Most urls are of few sites, and parsing one
 * takes 2 µs. */
const origins = new Set<string>();
const MAX_ORIGINS = 1000;

/** Undefined for what is no http or https url. */
export function targetOf(text: string): Target | undefined {
  const slash = text.indexOf('/', 'https://'.length);
  if (slash > 0) {
    const origin = text.slice(0, slash);
    if (origins.has(origin)) {
      const path = text.slice(slash);
      if (PLAIN_PATH.test(path) && !path.includes('/.')) return { origin, path, href: text };
    }
  }
  const url = parseUrl(text);
  if (url === undefined || !isHttp(url)) return undefined;
  const { origin } = url;
  if (slash === origin.length && text.startsWith(origin)) {
    if (origins.size >= MAX_ORIGINS) origins.clear();
    origins.add(origin);
  }
  return targetOfUrl(url);
}

export function targetOfUrl(url: URL): Target {
  const { origin, href } = url;
  // As it is written: `search` leaves out a question mark that nothing follows.
  const [path = '/'] = href.slice(href.indexOf('/', 'https://'.length)).split('#', 1);
  return { origin, path, href };
}

/** Undefined for what is no URL. */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

export function isHttp(url: URL): boolean {
  return url.protocol === 'http:' || url.protocol === 'https:';
}

/** Without roots everything is within; roots that cannot be read permit nothing. */
export function isWithin(roots: readonly string[], url: URL): boolean {
  return roots.length === 0 || strictRootCheck(roots)(url.href);
}
