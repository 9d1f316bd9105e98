/** Compares a URL with a provider's roots: scheme, host, port and whole path segments. A URL that some server
 * might understand as leading elsewhere is outside, wherever it seems to point. */

import { ambiguityOf } from './url-ambiguity.js';

/** A name as DNS has it, though with underscores, or an address. */
const HOST = /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\.?$|^\[[0-9a-f:.]+\]$/;
const UNRESERVED = /^[A-Za-z0-9._~-]$/;

/** A rest after a directory that no parser can leave it by: no scheme, no fragment, no odd encoding, nothing
 * that looks like a dot or a slash to those who fold wide forms; then any query. */
const PLAIN_REST =
  /^[\w~!$&'()*+,=@/.\u0080-\u1fff\u2070-\ufdff-]*(?:%(?!00|2[5EeFf]|5[Cc]|[CcEeFf]0|[Cc]1|[Ee]2|[Ee][Ff])[0-9A-Fa-f]{2}[\w~!$&'()*+,=@/.\u0080-\u1fff\u2070-\ufdff-]*)*(?:\?[\w~!$&'()*+,=:@/.?;%-]*)?$/;

const NOT_OF_LETTERS = /[%\u0080-\uffff]/;
/** Nothing may be left of it but dots, once what some servers drop has been dropped. */
const ODD_SEGMENT = /(?:^|\/)(?:%[0-9A-Fa-f]{2}|[.\u0080-\uffff])+(?=[/?]|$)/g;

/** True if `rest`, appended to a URL that ends with a slash and has no query, certainly stays below it. False
 * means only that it must be looked at closely. */
export function isPlainRest(rest: string): boolean {
  if (rest.charCodeAt(0) === 0x2e || rest.includes('/.') || !PLAIN_REST.test(rest)) return false;
  return !NOT_OF_LETTERS.test(rest) || !rest.match(ODD_SEGMENT)?.some(segment => segment.includes('.'));
}

interface Place {
  /** Scheme, host in lower case (IDN as punycode), port unless it is the default. */
  origin: string;
  /** Path segments, percent-encoding normalised, without the empty one in front of the first slash. */
  segments: string[];
}

/**
 * A test of absolute URLs against roots.
 * @param roots absolute http or https URLs; one that ends with a slash is a directory, one that does not is
 * itself or a directory. No root: nothing is inside.
 * @throws TypeError for a root that is no such URL
 */
export function createRootCheck(roots: readonly string[]): (url: string) => boolean {
  const places = roots.map(root => {
    const place = placeOf(root);
    if (place === undefined || /[?#]/.test(root)) throw new TypeError(`not usable as a root: ${root}`);
    return place;
  });
  // A URL that is the text of such a directory followed by a plain rest parses to that directory and the
  // rest.
  const directories = roots.map(root => new URL(root).href).filter(href => href.endsWith('/'));
  return url => {
    for (const directory of directories) {
      if (url.startsWith(directory) && isPlainRest(url.slice(directory.length))) return true;
    }
    const place = placeOf(url);
    return place !== undefined && places.some(root => isBelow(root, place));
  };
}

/** The fault of a root that somebody gives; undefined when it is usable. */
export function rootProblem(root: string): string | undefined {
  const ambiguity = ambiguityOf(root);
  if (ambiguity !== undefined) return ambiguity;
  if (/[?#]/.test(root)) return 'has a query or a fragment';
  const { hostname, pathname } = new URL(root);
  if (!HOST.test(hostname)) return 'names no host: there are no wildcards, each host has a root of its own';
  if (pathname.split('/').some(segment => /^\*+$/.test(segment)))
    return 'has a wildcard in its path: a root stands for all that lies below it, without one';
  return undefined;
}

/** Each text that a root around a URL may have; none for one that no root can be around. */
export function rootsAround(url: string): string[] {
  if (rootProblem(url.replace(/[?#].*$/s, '')) !== undefined) return [];
  const { origin, pathname } = new URL(url);
  const parts = pathname.split('/');
  const above = parts.map((_, i) => `${origin}${parts.slice(0, i + 1).join('/')}`);
  return above.flatMap(root => [root, `${root}/`]);
}

/** As `createRootCheck`, where there is nobody to be told: roots that cannot be read permit nothing. */
export function strictRootCheck(roots: readonly string[]): (url: string) => boolean {
  try {
    return createRootCheck(roots);
  } catch {
    return () => false;
  }
}

/** Where a URL points, or undefined where parsers may disagree about that. */
function placeOf(url: string): Place | undefined {
  if (ambiguityOf(url) !== undefined) return undefined;
  const { origin, pathname } = new URL(url);
  return { origin, segments: pathname.slice(1).split('/').map(normaliseSegment) };
}

function normaliseSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  return segment.replace(/%[0-9a-f]{2}/gi, code => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return UNRESERVED.test(character) ? character : code.toUpperCase();
  });
}

function isBelow(root: Place, place: Place): boolean {
  if (root.origin !== place.origin) return false;
  const isDirectory = root.segments.at(-1) === '';
  const shared = isDirectory ? root.segments.length - 1 : root.segments.length;
  if (place.segments.length < root.segments.length) return false;
  for (let i = 0; i < shared; i++) {
    if (root.segments[i] !== place.segments[i]) return false;
  }
  return true;
}
