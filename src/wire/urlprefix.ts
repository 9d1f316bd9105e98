/** The urlprefix of a set: what the UNS puts in front of every url that has no scheme. */

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;

/** True if a URL names its scheme. */
export function hasScheme(url: string): boolean {
  return SCHEME.test(url);
}

/** The prefix in front of a URL that has no scheme. */
export function resolveUrl(prefix: string, url: string): string {
  return hasScheme(url) ? url : prefix + url;
}
