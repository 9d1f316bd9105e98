/**
 * Names that a rail may be asked for: ids of contents, and paths of pages. Rails delete what they are told
 * to, and a server follows `..` into the neighbour's folder and takes `DELETE /folder/` for all that is in
 * it; so only plain paths of pages are sent.
 */

import { ambiguityOf } from '../wire/url-ambiguity.js';

const MAX_ID_BYTES = 512;
const MAX_URL_BYTES = 2048;
/** Words separated by slashes, none of which begins with a dot, a dash or a tilde. */
const CONTENT_ID = /^[A-Za-z0-9_][A-Za-z0-9._~-]*(?:\/[A-Za-z0-9_][A-Za-z0-9._~-]*)*$/;
/** Characters that a path may have as they are: RFC 3986, without what servers and shells give a meaning of
 * their own. */
const PLAIN = /^(?:[A-Za-z0-9._~!$&'()+,;=:@/-]|%[0-9A-Fa-f]{2})*$/;
/** A slash, a backslash or a control character in disguise. */
const HIDDEN = /%(?:2f|5c|7f|[01][0-9a-f])/i;
/** Characters that a text of any script may not have: those that end a path, are no character, or stand for
 * others. */
const NOT_IN_TEXT = /[\p{Cc}\p{Cf}\p{Cs}\p{Zs}\p{Zl}\p{Zp}\\?#*%"<>^`{|}[\]]/u;

/**
 * The part of a path that a content id stands for.
 * @param utf8 whether ids may have letters of any script, which are percent-encoded here
 * @returns the part, or why it cannot be one
 */
export function pathOfContentId(id: string, utf8 = false): { part: string } | { problem: string } {
  if (id === '') return { problem: 'the content id is empty' };
  if (Buffer.byteLength(id) > MAX_ID_BYTES)
    return { problem: `the content id is longer than ${MAX_ID_BYTES} bytes` };
  if (id.includes('..')) return { problem: 'the content id has two dots in a row' };
  if (CONTENT_ID.test(id)) return { part: id };
  if (!utf8) return { problem: 'the content id has other characters than A-Z a-z 0-9 _ . ~ - /' };
  if (NOT_IN_TEXT.test(id)) return { problem: 'the content id has a character that no path may have' };
  if (id.split('/').some(word => word === '' || /^[.~-]/.test(word)))
    return { problem: 'a word of the content id is empty, or begins with a dot, a dash or a tilde' };
  return { part: id.split('/').map(encodeURIComponent).join('/') };
}

/** Why a path cannot be that of a page; undefined when it can. */
export function problemOfUrl(url: string): string | undefined {
  if (!url.startsWith('/')) return 'the url does not begin with a slash';
  if (Buffer.byteLength(url) > MAX_URL_BYTES) return `the url is longer than ${MAX_URL_BYTES} bytes`;
  if (url.endsWith('/')) return 'the url ends with a slash: a server would take it for a whole folder';
  if (!PLAIN.test(url)) return 'the url has a character that the path of a page does not have';
  if (HIDDEN.test(url)) return 'the url has an encoded slash, backslash or control character';
  const segments = url.slice(1).replace(/%2e/gi, '.').split('/');
  if (segments.some(segment => segment === '' || segment === '.' || segment === '..'))
    return 'the url has an empty segment, or one of dots';
  // Overlong bytes, path parameters, wide dots: what some server takes for `..`.
  const ambiguity = ambiguityOf(`http://h${url}`);
  return ambiguity === undefined ? undefined : `the url ${ambiguity}`;
}

/** True if a page is named as its folder: `/`, `/news/`. A server with files would remove all of it, so only
 * caches are sent that. */
export function isFolder(url: string): boolean {
  return url.endsWith('/');
}

/** As problemOfUrl, for a page that may be named as its folder. */
export function problemOfPage(url: string): string | undefined {
  return url === '/' ? undefined : problemOfUrl(isFolder(url) ? url.slice(0, -1) : url);
}

/** True if a page lies below a path of the map of paths, which need not end at a slash. */
export function isBelow(url: string, path: string): boolean {
  return url.startsWith(path) && (url.length > path.length || isFolder(url));
}

/** Characters that stand for themselves in a path, encoded or not (RFC 3986, 2.3). */
const UNRESERVED = /^[A-Za-z0-9._~-]$/;

/** Other ways to write the path of a page, which RFC 3986 (6.2.2) calls the same and caches keep apart: codes
 * in capitals or not, a tilde encoded or not. Three at most; none of most paths. */
export function spellingsOf(url: string): string[] {
  if (!/[%~]/.test(url)) return [];
  const capital = url.replace(/%[0-9A-Fa-f]{2}/g, code => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return UNRESERVED.test(character) ? character : code.toUpperCase();
  });
  const small = capital.replace(/%../g, code => code.toLowerCase());
  const all = new Set([capital, small, capital.replaceAll('~', '%7E'), small.replaceAll('~', '%7e')]);
  all.delete(url);
  return [...all].filter(other => problemOfPage(other) === undefined);
}
