/** The two bytes of a spider record that say how a fetch ended (spider-record.ts): its reason, and the HTTP
 * status as an enumeration. lcc-spider(5) has both tables; a test compares them. */

/** Number of every reason, in the low six bits of its byte, and what lcc-spider(5) says of it. All other
 * numbers are reserved. */
export const SPIDER_REASONS = {
  ok: [0, 'fetched'],
  empty: [2, 'fetched, without any content'],
  'http-4xx': [10, 'status 4xx'],
  'http-5xx': [11, 'status 5xx'],
  'http-other': [12, 'another status that brings no document: 1xx, 206, 304'],
  'no-location': [13, 'redirect without Location'],
  'too-many-redirects': [14, 'more redirects than permitted'],
  'redirect-loop': [15, 'redirect to a url of the same chain'],
  'bad-target': [16, 'redirect to what is no http or https url'],
  'forbidden-target': [17, 'redirect to an address that is not permitted'],
  'total-timeout': [20, 'the time for the whole fetch is over'],
  'connect-timeout': [21, 'no connection in time'],
  'header-timeout': [22, 'no complete headers in time'],
  'idle-timeout': [23, 'silence inside of the document'],
  'no-such-name': [30, 'the host name does not exist'],
  'name-trouble': [31, 'the host name cannot be resolved now'],
  refused: [32, 'connection refused'],
  reset: [33, 'connection closed before the headers'],
  unreachable: [34, 'host or network unreachable'],
  'short-body': [35, 'the document is shorter than its end says'],
  tls: [36, 'TLS failure'],
  protocol: [40, 'malformed HTTP'],
  'headers-too-large': [41, 'headers larger than permitted'],
  'content-length': [42, 'Content-Length malformed or contradictory'],
  'transfer-encoding': [43, 'chunks or Transfer-Encoding malformed'],
  'too-many-1xx': [44, 'more 1xx responses than permitted'],
  'content-coding': [45, 'content coding unknown, stacked or damaged'],
  'bad-url': [50, 'url or line malformed'],
  scheme: [51, 'scheme not supported'],
  robots: [52, 'excluded by robots.txt'],
  mime: [53, 'media type refused'],
  'address-forbidden': [54, 'address not permitted'],
  'long-url': [55, 'url longer than 65535 bytes'],
  cancelled: [60, 'the spider was stopped'],
  internal: [63, 'a fault of the spider'],
} as const satisfies Record<string, readonly [number: number, says: string]>;

export type SpiderReason = keyof typeof SPIDER_REASONS;

const REDIRECTED = 0x80;
const CUT = 0x40;
const BY_NUMBER = new Map<number, SpiderReason>(
  Object.entries(SPIDER_REASONS).map(([name, [number]]) => [number, name as SpiderReason]),
);

/** Meaning of the reason byte. */
export interface SpiderEnd {
  reason: SpiderReason;
  /** A redirect was followed. */
  redirected: boolean;
  /** The document is the beginning of a longer one. */
  cut: boolean;
}

export function reasonByte({ reason, redirected, cut }: SpiderEnd): number {
  return SPIDER_REASONS[reason][0] | (redirected ? REDIRECTED : 0) | (cut ? CUT : 0);
}

/** Undefined for a reserved number. */
export function readReasonByte(byte: number): SpiderEnd | undefined {
  const reason = BY_NUMBER.get(byte & 0x3f);
  if (reason === undefined) return undefined;
  return { reason, redirected: (byte & REDIRECTED) !== 0, cut: (byte & CUT) !== 0 };
}

/** Per hundred: the first status, the last one in a row from there, the byte of the first, the byte of all
 * others. */
const ROWS = [
  [100, 103, 1, 9],
  [200, 208, 20, 19],
  [300, 308, 30, 39],
  [400, 451, 40, 92],
  [500, 511, 100, 119],
] as const;
/** IM Used: too far from the others. */
const IM_USED = { status: 226, byte: 29 };
const HTTP_09 = 253;
const OTHER = 254;

/** A status of three digits, or that there was an answer without any. */
type SpiderStatus = number | 'HTTP/0.9';

/** The HTTP byte of the last status that was seen; 0 of none. */
export function httpByte(status: SpiderStatus | undefined): number {
  if (status === undefined) return 0;
  if (status === 'HTTP/0.9') return HTTP_09;
  if (status === IM_USED.status) return IM_USED.byte;
  const row = ROWS.find(([first]) => status >= first && status < first + 100);
  if (row === undefined) return OTHER;
  const [first, last, byte, others] = row;
  return status <= last ? byte + status - first : others;
}

/** The status that an HTTP byte stands for as text: `404`; `4xx` for one that has no byte of its own; `0.9`;
 * `other`; `-` for none; `#77` for a byte that stands for nothing. */
export function httpText(byte: number): string {
  if (byte === 0) return '-';
  if (byte === HTTP_09) return '0.9';
  if (byte === OTHER) return 'other';
  if (byte === IM_USED.byte) return String(IM_USED.status);
  for (const [first, last, own, others] of ROWS) {
    if (byte === others) return `${first / 100}xx`;
    if (byte >= own && byte <= own + last - first) return String(first + byte - own);
  }
  return `#${byte}`;
}
