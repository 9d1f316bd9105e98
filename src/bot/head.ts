/** The head of a response, as far as the robot cares. */
import { parseMtime } from '../wire/mtime.js';

export interface ResponseHead {
  status: number;
  contentType: string | undefined;
  contentLength: number | undefined;
  /** Lower case; undefined when there is none. */
  contentCoding: string | undefined;
  transferCoding: string | undefined;
  lastModified: string | undefined;
  etag: string | undefined;
  retryAfter: string | undefined;
  /** Percent-encoded where it held bytes beyond ASCII; `conflicting` when several differ. */
  location: string | undefined;
  conflictingLocations: boolean;
  /** Nothing but the end of the connection says where the body ends. */
  endsByClose: boolean;
}

/**
 * Reads a raw header list (name, value, name, value …). Only names of a known length are looked at.
 * @param framed the protocol itself says where a body ends: HTTP/2
 */
export function readHead(status: number, raw: readonly Buffer[], framed = false): ResponseHead {
  const head: ResponseHead = {
    status,
    contentType: undefined,
    contentLength: undefined,
    contentCoding: undefined,
    transferCoding: undefined,
    lastModified: undefined,
    etag: undefined,
    retryAfter: undefined,
    location: undefined,
    conflictingLocations: false,
    endsByClose: false,
  };
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i];
    const value = raw[i + 1];
    if (name === undefined || value === undefined) continue;
    switch (name.length) {
      case 4:
        if (is(name, 'etag')) head.etag = text(value);
        break;
      case 8:
        if (is(name, 'location')) addLocation(head, value);
        break;
      case 11:
        if (is(name, 'retry-after')) head.retryAfter = text(value);
        break;
      case 12:
        if (is(name, 'content-type')) head.contentType = text(value);
        break;
      case 13:
        if (is(name, 'last-modified')) head.lastModified = text(value);
        break;
      case 14:
        if (is(name, 'content-length')) head.contentLength = Number(text(value));
        break;
      case 16:
        if (is(name, 'content-encoding'))
          head.contentCoding = joined(head.contentCoding, text(value).toLowerCase());
        break;
      case 17:
        if (is(name, 'transfer-encoding'))
          head.transferCoding = joined(head.transferCoding, text(value).toLowerCase());
        break;
      default:
    }
  }
  head.endsByClose = !framed && head.contentLength === undefined && head.transferCoding === undefined;
  return head;
}

/** `text/html` of `Text/HTML; charset=x`; undefined when it is no type/subtype. */
export function essenceOf(contentType: string | undefined): string | undefined {
  if (contentType === undefined) return undefined;
  const end = contentType.indexOf(';');
  const essence = (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  return /^[^\s/,]+\/[^\s/,]+$/.test(essence) ? essence : undefined;
}

const DAY_MS = 86_400_000;

/** Retry-After in milliseconds from now: seconds or an HTTP date, at most a day; undefined when it says neither. */
export function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, DAY_MS);
  const atSeconds = parseMtime(value);
  return atSeconds === undefined ? undefined : Math.min(Math.max(0, atSeconds * 1000 - nowMs), DAY_MS);
}

function is(name: Buffer, wanted: string): boolean {
  return name.toString('latin1').toLowerCase() === wanted;
}

function text(value: Buffer): string {
  return value.toString('latin1').trim();
}

function joined(before: string | undefined, next: string): string {
  return before === undefined || before === '' ? next : `${before}, ${next}`;
}

function addLocation(head: ResponseHead, value: Buffer): void {
  // Bytes beyond ASCII are percent-encoded one by one: right for UTF-8 and harmless for anything else.
  const location = text(value).replace(
    /[\u0080-\u00ff]/g,
    byte => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  if (head.location !== undefined && head.location !== location) head.conflictingLocations = true;
  head.location = location;
}
