/** A table of doors as a `RequestListener`: path → method → what answers. */
import type { IncomingMessage, RequestListener } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { LccError, messageOf, type ErrorCode } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { line, send, type HttpAnswer } from './answer.js';
import { limitOf, type WebLimits } from './limits.js';

/** A request as a door sees it. */
export interface Ask {
  request: IncomingMessage;
  query: URLSearchParams;
  /**
   * The body, read when it is asked for.
   * @throws LccError `limit` when it is larger than allowed, `data.cut` when it does not come whole
   */
  body: () => Promise<Buffer>;
}

/** @throws LccError answered as `STATUS_OF_CODE` has it */
export type Handler = (ask: Ask) => HttpAnswer | Promise<HttpAnswer>;

/** What answers at a path; HEAD is answered as GET without the body. */
export type Methods = Partial<Record<'GET' | 'POST' | 'PUT' | 'DELETE', Handler>>;

export interface RouteOptions {
  /** By path, without a slash at its end; it is found with and without one. */
  doors: Readonly<Record<string, Methods>>;
  /** Said where no door is. */
  elsewhere: string;
  limits: WebLimits;
  log: Pick<Log, 'error'>;
}

/** A handler's failure is answered (see `STATUS_OF_CODE`); what no client can mend is logged, and not shown. */
export function routed({ doors, elsewhere, limits, log }: RouteOptions): RequestListener {
  const table = new Map(Object.entries(doors));
  return (request, response) => {
    const { path, query } = targetOf(request);
    const door = table.get(path);
    if (door === undefined) return send(request, response, line(404, elsewhere));
    const handler = handlerOf(door, request.method);
    if (handler === undefined) {
      const allow = methodsOf(door).join(', ');
      return send(request, response, line(405, `allowed here: ${allow}`, { allow }));
    }
    const answering = async () => handler({ request, query, body: () => bodyOf(request, limits) });
    answering()
      .catch((error: unknown): HttpAnswer => {
        const status = statusOf(error);
        if (status < 500) return line(status, messageOf(error));
        log.error('request failed', { path, error: messageOf(error) });
        return line(
          status,
          status === 503 ? 'not for now; try again later' : 'this failed; the log says why',
        );
      })
      .then(answer => send(request, response, answer))
      .catch((error: unknown) => {
        log.error('request failed', { path, error: messageOf(error) });
        response.destroy();
      });
  };
}

/** The path less a slash at its end, as it was sent: nothing in it is decoded or resolved. */
function targetOf({ url = '' }: IncomingMessage): { path: string; query: URLSearchParams } {
  const [path = '', query = ''] = url.split(/\?(.*)/s, 2);
  return { path: path.length > 1 ? path.replace(/\/$/, '') : path, query: new URLSearchParams(query) };
}

function handlerOf(door: Methods, method = ''): Handler | undefined {
  if (method === 'HEAD') return door.GET;
  return door[method as keyof Methods];
}

function methodsOf(door: Methods): string[] {
  return Object.keys(door).flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

/** The server cuts off a client that sends much more. */
async function bodyOf(request: IncomingMessage, limits: WebLimits): Promise<Buffer> {
  const most = limits['web.max_body_bytes'];
  const tooLarge = () =>
    new LccError('limit', `the body is larger than ${limitOf(limits, 'web.max_body_bytes')}`);
  if (Number(request.headers['content-length'] ?? 0) > most) throw tooLarge();
  let body: Buffer;
  try {
    body = await buffer(request);
  } catch (error) {
    throw new LccError('data.cut', 'the body did not come whole', { cause: error });
  }
  if (body.length > most) throw tooLarge();
  return body;
}

/** What a request is answered with when its handler throws an error with this code; else 500. */
const STATUS_OF_CODE: Partial<Record<ErrorCode, number>> = {
  usage: 400,
  'data.malformed': 400,
  'data.cut': 400,
  'data.refused': 400,
  'auth.refused': 403,
  limit: 413,
  'peer.busy': 503,
  'peer.unavailable': 503,
  'try.later': 503,
  'io.full': 503,
};

function statusOf(error: unknown): number {
  return (error instanceof LccError && STATUS_OF_CODE[error.code]) || 500;
}
