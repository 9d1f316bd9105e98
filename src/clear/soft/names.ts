/**
 * Names under which pages are generated: no cache has them, no server has a file of that name, so a server
 * that is asked makes the page. `/news/a.html` becomes `/news/a-20261123142647123.html`; the digits are a
 * time in UTC that is never used twice.
 */
import type { ClearDatabase } from '../../db/clear/database.js';

const STAMP_DIGITS = 17;

/** The time that the next name has: now, or a millisecond after the last one, so that none is used twice,
 * also when the clock goes backwards. Inside a transaction. */
export function nextStamp({ numbers }: Pick<ClearDatabase, 'numbers'>, nowMs: number): number {
  return numbers.raise('last_stamp', nowMs);
}

/** `yyyyMMddHHmmssSSS`, UTC. @param stampMs milliseconds since 1970 */
export function stampOf(stampMs: number): string {
  return new Date(stampMs).toISOString().replace(/\D/g, '').slice(-STAMP_DIGITS);
}

/** The name that a page is generated under. @param url a path that does not end with a slash; it may have a
 * query */
export function stampedUrl(url: string, stampMs: number): string {
  const { stem, rest } = partsOf(url);
  return `${stem}-${stampOf(stampMs)}${rest}`;
}

/**
 * The pattern of all such names of a page, on rails that have a script for it (`cleanup = wildcard`).
 * @returns undefined for a page without an extension, whose names such scripts do not know
 */
export function wildcardOf(url: string): string | undefined {
  const { stem, rest } = partsOf(url);
  return rest.startsWith('.') ? `${stem}-*.*` : undefined;
}

/** Before the last dot of the last segment, and from there on. */
function partsOf(url: string): { stem: string; rest: string } {
  const end = url.includes('?') ? url.indexOf('?') : url.length;
  const dot = url.lastIndexOf('.', end - 1);
  const at = dot > url.lastIndexOf('/', end - 1) ? dot : end;
  return { stem: url.slice(0, at), rest: url.slice(at) };
}
