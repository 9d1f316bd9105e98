/** A location in a list → the url that is announced, or why there is none. */
import { parseUrl, isHttp, targetOf } from '../fetch/target.js';
import type { SourceLimit } from './limits.js';

const OUTER_CONTROLS = /^[\0-\x20]+|[\0-\x20]+$/g;

/**
 * @param text as it stands in the list; blanks around it do not count @param base that a relative one is
 * resolved by
 */
export function pageUrl(
  text: string,
  most: SourceLimit,
  base?: string,
): { curl: string } | { problem: string } {
  // As a parser of urls does it.
  const trimmed = text.trim().replace(OUTER_CONTROLS, '');
  if (trimmed === '') return { problem: 'is empty' };
  if (trimmed.includes('\ufffd')) return { problem: 'has bytes that are no characters' };
  const plain = base === undefined ? targetOf(trimmed) : undefined;
  const curl = plain?.href === trimmed && !/[@#]/.test(trimmed) ? trimmed : parsed(trimmed, base);
  if (typeof curl !== 'string') return curl;
  return curl.length > most.most ? { problem: `is longer than ${most.text}` } : { curl };
}

function parsed(text: string, base: string | undefined): string | { problem: string } {
  const url = parseUrl(text, base);
  if (url === undefined || !isHttp(url)) return { problem: 'is no http or https url' };
  if (url.username !== '' || url.password !== '') return { problem: 'has a login' };
  url.hash = '';
  return url.href;
}
