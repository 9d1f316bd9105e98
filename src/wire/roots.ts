/**
 * Whether a URL lies below one of a provider's roots. Compared are scheme, host, port and whole path segments; a URL that
 * some server might understand as leading elsewhere is outside, wherever it seems to point.
 */

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;
/** C0, DEL, and blanks at either end: what URL parsers drop silently. Backslashes they read as slashes. */
const REFUSED_CHARACTERS = /[\u0000-\u001f\u007f\\]|^ | $/;
/** A slash that is part of a name exists nowhere, and NUL ends a path where C reads it. */
const ENCODED_TRAP = /%(?:2f|00)/i;
/** Up to a `;` (path parameters) or a NUL: servers have cut names at both. */
const DOT_SEGMENT = /^\.\.?(?:[;\u0000].*)?$/s;
/** Nobody encodes a name more often than this in earnest. */
const MOST_DECODINGS = 8;
const UNRESERVED = /^[A-Za-z0-9._~-]$/;

/** What follows a directory so plainly that no parser can leave it: no scheme, no fragment, no odd encoding; then any
 * query. */
const PLAIN_REST =
  /^[\w~!$&'()*+,=@/.\u0080-\uffff-]*(?:%(?!00|2[5EeFf]|5[Cc]|[CcEeFf]0|[Cc]1)[0-9A-Fa-f]{2}[\w~!$&'()*+,=@/.\u0080-\uffff-]*)*(?:\?[\w~!$&'()*+,=:@/.?;%-]*)?$/;

/**
 * Whether `rest`, put behind a URL that ends with a slash and has no query, certainly stays below it. False means only
 * that it must be looked at closely.
 */
export function isPlainRest(rest: string): boolean {
  return rest.charCodeAt(0) !== 0x2e && !rest.includes('/.') && PLAIN_REST.test(rest);
}

/** Whether a URL names its scheme. */
export function hasScheme(url: string): boolean {
  return SCHEME.test(url);
}

/** The prefix in front of a URL that has no scheme. */
export function resolveUrl(prefix: string, url: string): string {
  return hasScheme(url) ? url : prefix + url;
}

interface Place {
  /** Scheme, host in lower case (IDN as punycode), port unless it is the default. */
  origin: string;
  /** Path segments, percent-encoding normalised, without the empty one in front of the first slash. */
  segments: string[];
}

/**
 * A test of absolute URLs against roots.
 * @param roots absolute http or https URLs; one that ends with a slash is a directory, one that does not is itself or a
 * directory. No root: nothing is inside.
 * @throws TypeError for a root that is no such URL
 */
export function createRootCheck(roots: readonly string[]): (url: string) => boolean {
  const places = roots.map(root => {
    const place = placeOf(root);
    if (place === undefined || /[?#]/.test(root)) throw new TypeError(`not usable as a root: ${root}`);
    return place;
  });
  // A URL that is the text of such a directory followed by a plain rest parses to that directory and the rest.
  const directories = roots.map(root => new URL(root).href).filter(href => href.endsWith('/'));
  return url => {
    for (const directory of directories) {
      if (url.startsWith(directory) && isPlainRest(url.slice(directory.length))) return true;
    }
    const place = placeOf(url);
    return place !== undefined && places.some(root => isBelow(root, place));
  };
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
  if (REFUSED_CHARACTERS.test(url)) return undefined;
  const written = /^https?:\/\/([^/?#]*)([^?#]*)/i.exec(url);
  if (written === null || written[1] === '' || written[1]?.includes('@') === true) return undefined;
  if (!isPlainPath(written[2] ?? '')) return undefined;
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return undefined;
  }
  if (parsed.username !== '' || parsed.password !== '') return undefined;
  return { origin: parsed.origin, segments: parsed.pathname.slice(1).split('/').map(normaliseSegment) };
}

/**
 * No dot segment, however a server may read the path: decoded once or over and over, backslashes taken for slashes,
 * overlong UTF-8 for what it would spell. Whatever else a name holds (a file may well be called `a\b` or have a newline
 * in its name) cannot lead out of a directory.
 */
function isPlainPath(path: string): boolean {
  if (ENCODED_TRAP.test(path)) return false;
  let reading = path;
  for (let decodings = 0; decodings <= MOST_DECODINGS; decodings++) {
    if (reading.split(/[/\\]/).some(segment => DOT_SEGMENT.test(segment))) return false;
    const decoded = decodedOnce(reading);
    if (decoded === reading) return true;
    reading = decoded;
  }
  return false;
}

function decodedOnce(text: string): string {
  return text
    .replace(/%[0-9a-f]{2}/gi, code => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
    .replace(/(?:\u00f0\u0080)?(?:\u00e0|\u0080)?[\u00c0\u00c1\u0080\u0081][\u0080-\u00bf]/g, overlong => {
      const [lead, trail] = [
        overlong.charCodeAt(overlong.length - 2),
        overlong.charCodeAt(overlong.length - 1),
      ];
      return String.fromCharCode(((lead & 1) << 6) | (trail & 0x3f));
    });
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
