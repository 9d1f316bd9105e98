/** The head of a response, as far as it matters here. */
import { parseMtime } from '../wire/mtime.js';

/** Stands for the status of an answer that has none: HTTP/0.9. */
export const HTTP_0_9 = 9;

export interface ResponseHead {
  status: number;
  contentType: string | undefined;
  contentLength: number | undefined;
  /** Lower case; undefined when there is none. */
  contentCoding: string | undefined;
  transferCoding: string | undefined;
  /** A validator: at least a second older than the answer. */
  lastModified: string | undefined;
  /** Last-Modified of what may change again in that second and look the same (RFC 9110, 8.8.2.2). */
  modifiedNow: string | undefined;
  /** A validator, as Last-Modified is. */
  etag: string | undefined;
  retryAfter: string | undefined;
  /** `X-Cache`: whether a cache on the way had it, in its words. */
  cache: string | undefined;
  /** `X-Robots-Tag`, all of them: which use of it the site permits. */
  robots: string | undefined;
  /** `Link`, all of them: what the answer is related to. */
  link: string | undefined;
  /** Percent-encoded where it held bytes beyond ASCII; `conflicting` when several differ. */
  location: string | undefined;
  conflictingLocations: boolean;
  /** Values of Set-Cookie; undefined: none. */
  cookies: string[] | undefined;
  /** Nothing but the end of the connection says where the body ends. */
  endsByClose: boolean;
}

type Read = (head: ResponseHead, said: string) => void;

/** The fields that matter, by the length of their names, so that others need not be compared, or decoded. */
const FIELDS: readonly (readonly [name: string, read: Read] | undefined)[] = Array.from(
  { length: 18 },
  (_, length) =>
    Object.entries<Read>({
      etag: (head, said) => (head.etag = said),
      'x-cache': (head, said) => (head.cache = said),
      location: addLocation,
      'set-cookie': (head, said) => (head.cookies ??= []).push(said),
      'retry-after': (head, said) => (head.retryAfter = said),
      'content-type': (head, said) => (head.contentType = said),
      'last-modified': (head, said) => (head.lastModified = said),
      'content-length': (head, said) => (head.contentLength = Number(said)),
      'content-encoding': (head, said) =>
        (head.contentCoding = joined(head.contentCoding, said.toLowerCase())),
      'transfer-encoding': (head, said) =>
        (head.transferCoding = joined(head.transferCoding, said.toLowerCase())),
    }).find(([name]) => name.length === length),
);

const ROBOTS = 'x-robots-tag';
const LINK = 'link';
const DATE = 'date';

/** Reads a raw header list (name, value, name, value …). */
export function readHead(status: number, raw: readonly Buffer[]): ResponseHead {
  const head: ResponseHead = {
    status,
    contentType: undefined,
    contentLength: undefined,
    contentCoding: undefined,
    transferCoding: undefined,
    lastModified: undefined,
    modifiedNow: undefined,
    etag: undefined,
    retryAfter: undefined,
    cache: undefined,
    robots: undefined,
    link: undefined,
    location: undefined,
    conflictingLocations: false,
    cookies: undefined,
    endsByClose: false,
  };
  let date: Buffer | undefined;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i];
    const value = raw[i + 1];
    if (name === undefined || value === undefined) continue;
    const field = FIELDS[Math.min(name.length, FIELDS.length - 1)];
    if (field === undefined) continue;
    const [wanted, read] = field;
    if (is(name, wanted)) read(head, text(value));
    // As long as content-type, and as etag.
    else if (is(name, ROBOTS)) head.robots = joined(head.robots, printable(value));
    else if (is(name, LINK)) head.link = joined(head.link, text(value));
    else if (is(name, DATE)) date = value;
  }
  // An ETag may be no more than that time and a length, as nginx makes it.
  const { lastModified } = head;
  if (lastModified !== undefined && date !== undefined && isSameSecond(lastModified, text(date))) {
    head.modifiedNow = lastModified;
    head.lastModified = head.etag = undefined;
  }
  head.endsByClose = head.contentLength === undefined && head.transferCoding === undefined;
  return head;
}

/** True also where the content is newer than the answer, by another clock. */
function isSameSecond(lastModified: string, date: string): boolean {
  return lastModified === date || Date.parse(lastModified) > Date.parse(date) - 1000;
}

/** Types that were read lately: they repeat. */
const essences = new Map<string, string>();
const MAX_ESSENCES = 100;
/** Longer ones are not worth the memory. */
const MAX_REMEMBERED = 200;

/** `text/html` of `Text/HTML; charset=x`; undefined when it is no type/subtype. */
export function essenceOf(contentType: string | undefined): string | undefined {
  if (contentType === undefined) return undefined;
  const known = essences.get(contentType);
  if (known !== undefined) return known;
  const essence = readEssence(contentType);
  if (essence !== undefined && contentType.length <= MAX_REMEMBERED) {
    if (essences.size >= MAX_ESSENCES) essences.clear();
    essences.set(contentType, essence);
  }
  return essence;
}

function readEssence(contentType: string): string | undefined {
  const end = contentType.indexOf(';');
  const essence = (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  return /^[^\s/,]+\/[^\s/,]+$/.test(essence) ? essence : undefined;
}

const DAY_MS = 86_400_000;

/** Retry-After in milliseconds from now: seconds or an HTTP date, at most a day; undefined when it says
 * neither. */
export function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, DAY_MS);
  const atSeconds = parseMtime(value);
  return atSeconds === undefined ? undefined : Math.min(Math.max(0, atSeconds * 1000 - nowMs), DAY_MS);
}

/** True if a header is called so, whatever the case of its letters. */
function is(name: Buffer, wanted: string): boolean {
  if (name.length !== wanted.length) return false;
  for (let i = 0; i < wanted.length; i++) {
    const byte = name[i] ?? 0;
    const letter = wanted.charCodeAt(i);
    // Small and capital letters differ by this bit.
    if (byte !== letter && (byte !== letter - 0x20 || letter < 0x61)) return false;
  }
  return true;
}

function text(value: Buffer): string {
  return value.toString('latin1').trim();
}

/** Text that can stand in an attribute, whatever bytes came. */
function printable(value: Buffer): string {
  return text(value).replace(/[^\x20-\x7e]/g, ' ');
}

function joined(before: string | undefined, next: string): string {
  return before === undefined || before === '' ? next : `${before}, ${next}`;
}

function addLocation(head: ResponseHead, said: string): void {
  // Bytes beyond ASCII are percent-encoded one by one: right for UTF-8 and harmless for anything else.
  const location = said.replace(
    /[\u0080-\u00ff]/g,
    byte => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  if (head.location !== undefined && head.location !== location) head.conflictingLocations = true;
  head.location = location;
}

/** 204 and 205 have no body whatever they claim: nothing that could be held. */
export function isBodiless({ status }: ResponseHead): boolean {
  return status === 204 || status === 205;
}

export function isContent(status: number): boolean {
  return status === 200 || status === 203 || status === HTTP_0_9;
}

export function isRedirect(status: number): boolean {
  return status >= 301 && status <= 308 && status !== 304 && status !== 305 && status !== 306;
}
