/** What can go wrong with a fetch: code of codes.ts or HTTP status, how far it reaches, one line of text. */
import { constants } from 'node:http2';
import { codeText } from '../wire/codes.js';
import type { ErrorReach } from '../wire/fetch.js';
import { errnoOf, isNoRoom, messageOf } from '../lib/errors.js';

export interface Failure {
  code: number;
  reach: ErrorReach;
  message: string;
  retryAfterMs?: number;
}

/** Carries a failure through code that passes errors on: undici, streams. */
export class FetchError extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.message);
    this.name = 'FetchError';
    this.failure = failure;
  }
}

/** How far a code reaches when nothing more is known (semantics.md, rule 11). */
const REACH: Record<number, ErrorReach> = {
  601: 'provider',
  602: 'provider',
  603: 'url',
  604: 'provider',
  605: 'url',
  606: 'real',
  607: 'real',
  608: 'real',
  609: 'real',
  610: 'real',
  611: 'url',
  612: 'real',
  // The store is ours: nothing of any provider may be dropped because of it, so it waits as if its site were away.
  613: 'provider',
};

/** A failure by its code; `detail` follows the code's own text. */
export function failure(code: number, detail = '', reach: ErrorReach = REACH[code] ?? 'url'): Failure {
  return { code, reach, message: detail === '' ? codeText(code) : `${codeText(code)}: ${detail}` };
}

/** An HTTP status that is an answer but not content. 408, 425, 429 and 5xx pass with time. */
export function statusFailure(status: number, retryAfterMs: number | undefined): Failure {
  const reach = status >= 500 || status === 408 || status === 425 || status === 429 ? 'url' : 'real';
  const found: Failure = { code: status, reach, message: statusText(status) };
  if (retryAfterMs !== undefined) found.retryAfterMs = retryAfterMs;
  return found;
}

/** Standard reason phrases; what a server writes there is its own affair. */
function statusText(status: number): string {
  return REASONS[status] ?? codeText(status);
}
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

/** What this process or this machine has no more of: no site is to blame. */
const EXHAUSTED: readonly string[] = ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'];

function exhausted(what: string, errno: string): Failure {
  return failure(605, `out of ${what} here (${errno}); raise the limit of open files`, 'provider');
}

/** A connection that could not be made. `tls`: it was to be an encrypted one. */
export function connectFailure(error: unknown, peer: string, tls: boolean): Failure {
  if (error instanceof FetchError) return error.failure;
  const errno = errnoOf(error) ?? (error instanceof AggregateError ? errnoOf(error.errors[0]) : undefined);
  if (errno !== undefined && EXHAUSTED.includes(errno)) return exhausted('sockets', errno);
  switch (errno ?? '') {
    case 'ENOTFOUND':
    case 'ENODATA':
    case 'EAI_AGAIN':
    case 'EAI_FAIL':
    case 'EAI_NONAME':
      return failure(601, `${peer} (${errno})`);
    case 'ECONNREFUSED':
    case 'EHOSTUNREACH':
    case 'EHOSTDOWN':
    case 'ENETUNREACH':
    case 'ENETDOWN':
    case 'EADDRNOTAVAIL':
    case 'EACCES':
    case 'EPERM':
      return failure(602, `${peer} (${errno})`);
    case 'ETIMEDOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return failure(603, `connecting to ${peer}`, 'provider');
    case 'ECONNRESET':
    case 'ECONNABORTED':
    case 'EPIPE':
      // Accepted, then closed: the same whether that is noticed before the request leaves or after.
      if (!tls) return failure(605, `${peer}: ${messageOf(error)}`);
      return failure(604, `${peer}: ${tlsReason(error)}`);
    default:
      return tls
        ? failure(604, `${peer}: ${tlsReason(error)}`)
        : failure(605, `connecting to ${peer}: ${messageOf(error)}`, 'provider');
  }
}

/** OpenSSL's messages carry addresses and source files; `reason` is what a person can use. */
function tlsReason(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'reason' in error && typeof error.reason === 'string')
    return error.reason;
  return messageOf(error);
}

/** A connection that was there and broke, or an answer that is not HTTP. `inBody`: the headers had been read. */
export function responseFailure(error: unknown, inBody: boolean, maxHeaderText: string): Failure {
  if (error instanceof FetchError) return error.failure;
  const errno = errnoOf(error) ?? '';
  const message = messageOf(error);
  if (errno === 'UND_ERR_HEADERS_OVERFLOW') return failure(611, `headers larger than ${maxHeaderText}`);
  // undici says this, too, of anything wrong in headers that have a Content-Length among them.
  if (errno === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH')
    return inBody ? failure(605, 'the body ended early') : failure(611, 'headers');
  // undici's parser errors have a name but not always a code.
  if (errno.startsWith('HPE_') || (error instanceof Error && error.name === 'HTTPParserError'))
    return failure(611, message);
  if (message === 'bad response' || message === 'bad upgrade') return failure(611, message);
  if (errno === 'UND_ERR_INVALID_ARG') return failure(611, message, 'real');
  if (errno.startsWith('ERR_SSL_') || errno === 'EPROTO') return failure(604, tlsReason(error));
  return failure(605, message);
}

/** Whether a reset code means that somebody did not keep to the protocol. Not a table: that would load all of HTTP/2. */
function isHttp2Breach(code: number): boolean {
  switch (code) {
    case constants.NGHTTP2_PROTOCOL_ERROR:
    case constants.NGHTTP2_FLOW_CONTROL_ERROR:
    case constants.NGHTTP2_FRAME_SIZE_ERROR:
    case constants.NGHTTP2_COMPRESSION_ERROR:
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return true;
    default:
      return false;
  }
}

/** An HTTP/2 stream that did not come to its end. @param code of the reset, NO_ERROR or CANCEL when the connection went */
export function http2Failure(code: number | undefined, error?: unknown): Failure {
  const errno = errnoOf(error) ?? '';
  if (errno === 'ERR_HTTP2_ERROR' || (code !== undefined && isHttp2Breach(code)))
    return failure(611, error === undefined ? `HTTP/2 reset code ${code}` : messageOf(error));
  if (errno.startsWith('ERR_SSL_') || errno === 'EPROTO') return failure(604, tlsReason(error));
  return failure(605, error === undefined ? 'the stream ended early' : messageOf(error));
}

/** The store did not take the content: it has no room for this one (`url`), or takes none at all. */
export function storeFailure(error: unknown, file: string): Failure {
  const errno = errnoOf(error);
  if (errno !== undefined && EXHAUSTED.includes(errno)) return exhausted('files', errno);
  // The file has grown beyond the free room, or beyond what the file system or a limit lets one.
  if (errno !== undefined && (isNoRoom(error) || errno === 'EFBIG'))
    return failure(613, `${file} (${errno})`, 'url');
  return {
    code: 613,
    reach: 'provider',
    message: `cannot write ${file}: ${messageOf(error)}; see to the store's disk and permissions`,
  };
}
