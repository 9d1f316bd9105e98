/** Where a link leads, as browsers resolve it: letters of its query in the encoding of the page. */
import '@exodus/bytes/encoding.js';
import { percentEncodeAfterEncoding } from '@exodus/bytes/whatwg.js';
import { canonicalUrl, type CanonicalUrl } from '../wire/canonical-url.js';

/** Leads to the same page from each page of a folder: it has a path or a host of its own, which `?a` and
 * `http:?a` have not. */
const FROM_FOLDER = /^[\w./~%-](?:[^:]*$|[^:]*:\/\/)/;
const BEYOND_ASCII = /[^\u0000-\u007f]/;
/** The special-query percent-encode set of the URL Standard. */
const QUERY_SET = ' "#\'<>';

/**
 * @param charset of the page, as the Encoding Standard calls it
 * @returns undefined for what is not fetched
 */
export function resolveLink(href: string, base: string, charset: string): CanonicalUrl | undefined {
  return canonicalUrl(inCharset(href, charset), base);
}

/** The base of a page: that of its base element, where it is one. */
export function baseOf(written: string | undefined, url: string): string {
  if (written === undefined) return url;
  try {
    const base = new URL(written, url);
    return base.protocol === 'http:' || base.protocol === 'https:' ? base.href : url;
  } catch {
    return url;
  }
}

/** Names links as the pages of a folder write them: what has one name leads to one page; undefined for a link
 * without. */
export function spellings(base: string, charset: string): (href: string) => string | undefined {
  if (!URL.canParse(base)) return () => undefined;
  const url = new URL(base);
  url.search = url.hash = '';
  const folder = `${charset} ${url.href.slice(0, url.href.lastIndexOf('/') + 1)} `;
  return href => (FROM_FOLDER.test(href) ? folder + href : undefined);
}

function inCharset(href: string, charset: string): string {
  if (
    charset === 'utf-8' ||
    charset === 'replacement' ||
    charset.startsWith('utf-16') ||
    !BEYOND_ASCII.test(href)
  )
    return href;
  const end = href.indexOf('#');
  const url = end < 0 ? href : href.slice(0, end);
  const mark = url.indexOf('?');
  if (mark < 0 || !BEYOND_ASCII.test(url.slice(mark))) return url;
  return `${url.slice(0, mark + 1)}${percentEncodeAfterEncoding(charset, url.slice(mark + 1), QUERY_SET)}`;
}
