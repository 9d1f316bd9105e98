/** Answers to requests: with the headers that all have, and short ones in plain text. */
import { STATUS_CODES, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';

/**
 * On every answer, unless its door says otherwise: nothing is stored, framed, guessed at or loaded from
 * elsewhere. The referrer stays inside: without one a browser sends `Origin: null`, and forms of our own
 * pages could not be told from others.
 */
const HEADERS: readonly (readonly [string, string])[] = [
  ['cache-control', 'no-store'],
  [
    'content-security-policy',
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  ],
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['referrer-policy', 'same-origin'],
  ['x-content-type-options', 'nosniff'],
];

const TEXT = 'text/plain; charset=utf-8';

export interface HttpAnswer {
  status?: number;
  /** Content-Type. */
  type?: string;
  body?: string | Buffer;
  headers?: OutgoingHttpHeaders;
}

/** Sets the headers of every answer, before a door adds its own. */
export function prepare(response: ServerResponse): void {
  for (const [name, value] of HEADERS) response.setHeader(name, value);
  // One connection carries one request.
  response.shouldKeepAlive = false;
}

/** Sends a whole answer; of HEAD its headers. */
export function send(request: IncomingMessage, response: ServerResponse, answer: HttpAnswer): void {
  const { status = 200, type = TEXT, body = '', headers = {} } = answer;
  if (status !== 304)
    response.setHeader('content-type', type).setHeader('content-length', Buffer.byteLength(body));
  response.writeHead(status, headers);
  response.end(request.method === 'HEAD' ? undefined : body);
}

/** A line of text as an answer. */
export function line(status: number, text: string, headers: OutgoingHttpHeaders = {}): HttpAnswer {
  return { status, body: `${text}\n`, headers };
}

/** The same as bytes, for a socket without a request that could be answered. */
export function plainAnswer(status: number, text: string): string {
  return rawAnswer(line(status, text));
}

/** An answer as bytes, with those of its headers that are texts. */
export function rawAnswer({ status = 200, type = TEXT, body = '', headers = {} }: HttpAnswer): string {
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `Content-Type: ${type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`),
    'Connection: close',
    '',
    String(body),
  ].join('\r\n');
}
