/**
 * The error codes of the LCC (attribute `code`): language independent, one table, one man page (lcc-codes(7);
 * a test compares the two). 4xx and 5xx are the HTTP status a fetch got and are not listed here.
 */

export const CODES = {
  // 1xx: the connection
  101: 'unknown provider or wrong password',
  102: 'too busy, try again later',
  103: 'malformed XML',
  104: 'protocol violation',
  105: 'provider disabled',
  106: 'limit exceeded',
  107: 'not the store that rows point into',
  108: 'full resync needed',
  // 2xx: the set
  201: 'no full sets left',
  202: 'file quota exceeded',
  203: 'space quota exceeded',
  204: 'set incomplete',
  205: 'removals held back',
  // 3xx: a url, found by the UNS
  301: 'curl missing',
  302: 'mimetype missing or malformed',
  303: 'mimetype not accepted here',
  304: "outside the provider's roots",
  305: 'scheme not supported',
  306: 'attribute malformed',
  307: 'too long',
  // 6xx: the fetch failed without an HTTP status
  601: 'name not resolved',
  602: 'connection refused',
  603: 'timeout',
  604: 'TLS failure',
  605: 'connection broken',
  606: 'too large',
  607: 'mimetype differs from what was announced',
  608: 'redirect loop or too many redirects',
  609: "redirect leaves the provider's roots",
  610: 'address not permitted',
  611: 'malformed HTTP',
  612: 'md5 or length differ from what was announced',
  613: 'store full',
  614: 'never permitted by its hours',
  615: 'forbidden by robots.txt',
  616: 'changed without being announced',
  617: 'gone without being announced',
  618: 'asks not to be kept (noindex)',
} as const;
/** A store has no room, for one content or for any: nothing that the url is to blame for. */
export const STORE_FULL = 613;
/** A set would remove much: told even among many errors. */
export const REMOVALS_HELD = 205;
/** A redirect leaves the roots. */
export const LEAVES_ROOTS = 609;
/** An address that the LCC is not permitted to fetch from. */
export const UNPERMITTED = 610;
/** The url was not announced, and robots.txt forbids it: nothing is sent for it. */
export const ROBOTS_FORBID = 615;
/** The url was announced, and an audit found that it has changed, or is gone, without a word. */
export const SILENT_CHANGE = 616;
export const SILENT_END = 617;
/** The url was not announced: it was fetched, and is not kept. */
export const UNWANTED = 618;
/** Codes by which a site itself refuses pages that nobody announced: a person's word for one does not change
 * it. */
export const SITE_WISHES: readonly number[] = [ROBOTS_FORBID, UNWANTED];
/** A url outside the roots of its provider: found when it comes, and again when its turn to be fetched has
 * come. */
export const OUTSIDE_ROOTS = 304;

export type LccCode = keyof typeof CODES;

export function isCode(code: number): code is LccCode {
  return Object.hasOwn(CODES, code);
}

/** The English text of a code; an HTTP status (or an unknown code) gets a generic one. */
export function codeText(code: number): string {
  return code in CODES ? CODES[code as LccCode] : `HTTP status ${code}`;
}

/** Codes for a provider whose quota leaves no room for a url: 202 for its files, 203 for its bytes. */
export function quotaText(
  code: 202 | 203,
  { filesmax, spacemax }: { filesmax: number; spacemax: number },
): string {
  return code === 202
    ? `${CODES[202]}: ${filesmax} files allowed`
    : `${CODES[203]}: ${spacemax} bytes allowed`;
}
