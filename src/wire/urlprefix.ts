/** The urlprefix of a set: what the UNS puts in front of every url that has no scheme. */

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;

/** True if a URL names its scheme. */
export function hasScheme(url: string): boolean {
  return SCHEME.test(url);
}

/**
 * A prefix of a host alone, `http://host`, as its root, `http://host/`: text that follows would be a part of
 * the host's name.
 * @param url one that it is put in front of
 */
export function withRoot(prefix: string, url: string | undefined): string {
  return /^https?:\/\/[^/?#]+$/i.test(prefix) && !/^[/?#:]/.test(url ?? '') ? `${prefix}/` : prefix;
}

/** A remark on a prefix that goes on in the name of a file. */
export function slashRemark(prefix: string): string {
  return prefix === '' || /[/?#=&]$/.test(prefix) ? '' : "; does the urlprefix lack its last '/'?";
}

/** The prefix in front of a URL that has no scheme. */
export function resolveUrl(prefix: string, url: string): string {
  return hasScheme(url) ? url : prefix + url;
}
