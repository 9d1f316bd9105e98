/** Where a document is. */
import type { Readable } from 'node:stream';
import { isHttp, parseUrl } from '../fetch/target.js';
import { LccError } from '../lib/errors.js';

export type DocumentPlace =
  | { kind: 'url'; url: string }
  | { kind: 'file'; path: string }
  | { kind: 'stdin'; input: () => Readable };

/**
 * @param operand a url, a file, or `-` for the standard input
 * @param input the standard input
 * @throws LccError `usage`
 */
export function placeOf(operand: string, input: () => Readable): DocumentPlace {
  if (operand === '-') return { kind: 'stdin', input };
  if (!/^https?:/i.test(operand)) return { kind: 'file', path: operand };
  return { kind: 'url', url: siteUrl(operand).href };
}

/** @throws LccError `usage` for what is no http or https url */
export function siteUrl(text: string): URL {
  const url = parseUrl(text);
  if (url === undefined || !isHttp(url)) throw new LccError('usage', `${text}: write http://host/ or a file`);
  url.hash = '';
  return url;
}

export function nameOf(place: DocumentPlace): string {
  return place.kind === 'url' ? place.url : place.kind === 'file' ? place.path : 'standard input';
}

/** As connections have it: an address of IPv6 without brackets. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
}
