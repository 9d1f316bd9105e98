/** Meaning of a failure for a url and its provider: the code that is told, and how far it reaches
 * (semantics.md, rule 11). */
import { exhaustionOf, type FetchFailure, type PlainKind } from '../fetch/failure.js';
import { errnoOf, isNoRoom, messageOf } from '../lib/errors.js';
import { codeText, STORE_FULL } from '../wire/codes.js';
import type { ErrorReach, FetchFailed } from '../wire/fetch.js';

export type Verdict = Pick<FetchFailed, 'code' | 'reach' | 'message' | 'retryAfterMs'>;

const VERDICTS: Record<PlainKind, readonly [code: number, reach: ErrorReach]> = {
  'bad-url': [611, 'real'],
  dns: [601, 'provider'],
  'dns-temporary': [601, 'provider'],
  guard: [610, 'real'],
  refused: [602, 'provider'],
  unreachable: [602, 'provider'],
  'connect-timeout': [603, 'provider'],
  tls: [604, 'provider'],
  'connect-failed': [605, 'provider'],
  exhausted: [605, 'provider'],
  'headers-timeout': [603, 'url'],
  'idle-timeout': [603, 'url'],
  'too-slow': [603, 'url'],
  'total-timeout': [603, 'url'],
  reset: [605, 'url'],
  cut: [605, 'url'],
  contradicted: [605, 'url'],
  'too-large': [606, 'real'],
  flood: [606, 'real'],
  'headers-flood': [606, 'real'],
  malformed: [611, 'url'],
  'headers-too-big': [611, 'url'],
  'content-length': [611, 'url'],
  framing: [611, 'url'],
  interim: [611, 'url'],
  coding: [611, 'url'],
  'unexpected-status': [611, 'url'],
  'no-location': [611, 'url'],
  'bad-location': [611, 'url'],
  'redirect-loop': [608, 'real'],
  'too-many-redirects': [608, 'real'],
  'redirect-outside': [609, 'real'],
  'redirect-downgrade': [609, 'real'],
  'other-type': [607, 'real'],
  'unaccepted-type': [303, 'real'],
  differs: [612, 'real'],
  cancelled: [605, 'url'],
  bug: [605, 'url'],
};

/** Messages of failures that need more words than the failure itself has. */
const PHRASES: Partial<Record<PlainKind, (detail: string) => string>> = {
  guard: what => `${what} is not public; bot.allow_addresses or --allow-address permits it`,
  exhausted,
  bug: aBug,
};

/** @param file where the content was to go */
export function verdictOf(failure: FetchFailure, file: string): Verdict {
  if ('detail' in failure) return verdict(failure.kind, failure.detail);
  switch (failure.kind) {
    case 'status':
      return statusVerdict(failure.status, failure.retryAfterMs);
    case 'sink':
      return storeVerdict(failure.error, file);
    case 'source':
      return verdict('bug', messageOf(failure.error));
  }
}

function verdict(kind: PlainKind, detail: string): Verdict {
  const [code, reach] = VERDICTS[kind];
  const phrase = PHRASES[kind]?.(detail) ?? detail;
  return { code, reach, message: `${codeText(code)}: ${phrase}` };
}

function aBug(what: string): string {
  return `a bug here: ${what}`;
}

function exhausted(what: string): string {
  return `out of ${what}; raise the limit of open files`;
}

const PASSING = [408, 421, 425, 429];

/** An HTTP status that is an answer but not content. 408, 421, 425, 429 and 5xx pass with time. */
function statusVerdict(status: number, retryAfterMs: number | undefined): Verdict {
  const reach = status >= 500 || PASSING.includes(status) ? 'url' : 'real';
  const found: Verdict = { code: status, reach, message: REASONS[status] ?? codeText(status) };
  if (retryAfterMs !== undefined) found.retryAfterMs = retryAfterMs;
  return found;
}

/** The store did not take the content: it has no room for this one (`url`), or takes none at all. */
function storeVerdict(error: unknown, file: string): Verdict {
  const errno = errnoOf(error);
  if (exhaustionOf(error) !== undefined) return verdict('exhausted', `files here (${errno})`);
  // The file has grown beyond the free room, or beyond what the file system or a limit lets one.
  if (errno !== undefined && (isNoRoom(error) || errno === 'EFBIG'))
    return { code: STORE_FULL, reach: 'url', message: `${codeText(STORE_FULL)}: ${file} (${errno})` };
  // The store is ours: nothing of any provider may be dropped because of it, so it waits as if its site were
  // away.
  return {
    code: STORE_FULL,
    reach: 'provider',
    message: `cannot write ${file}: ${messageOf(error)}; see to the store's disk and permissions`,
  };
}

/** Standard reason phrases; what a server writes there is its own affair. */
const REASONS: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  407: 'Proxy Authentication Required',
  408: 'Request Timeout',
  410: 'Gone',
  416: 'Range Not Satisfiable',
  421: 'Misdirected Request',
  425: 'Too Early',
  429: 'Too Many Requests',
  451: 'Unavailable For Legal Reasons',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};
