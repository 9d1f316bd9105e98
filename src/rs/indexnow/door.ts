/** IndexNow over HTTP: `/indexnow` in any case, with a slash or without, below rs.url and at the root. */
import { Hono, type Context } from 'hono';
import { KB, MB, SECOND } from '../../config/amounts.js';
import type { Clock } from '../../lib/clock.js';
import { isPassing } from '../../lib/errors.js';
import type { Network } from '../../lib/network.js';
import { clientAddress } from '../../web/client.js';
import type { NodeBindings } from '../api-parts.js';
import { networkOf } from '../limits.js';
import { Rate } from '../push/rates.js';
import { busy, RsRequestRefused, tooOften } from '../refusal.js';
import type { IndexNowIntake } from './intake.js';
import { MAX_URLS, requestOfBody, requestOfQuery, type IndexNowRequest } from './request.js';

export const MAX_BODY_BYTES = 8 * MB;
/** Longer bodies are read few at a time, in all and of a network. */
const LARGE_BYTES = 64 * KB;
const LARGE_AT_A_TIME = 8;
const LARGE_OF_NETWORK = 2;
const PER_SECOND = 10;
const PATH = /^\/indexnow\/*$/i;
/** Words for machines that all refusals of a status have. */
const CODES: Readonly<Record<number, string>> = { 429: 'TooManyRequests', 503: 'Unavailable' };

type Ask = Context<{ Bindings: NodeBindings }>;

export interface IndexNowDoorOptions {
  intake: Pick<IndexNowIntake, 'take'>;
  /** Path of rs.url, without a slash at its end. */
  base: string;
  proxies: readonly Network[];
  clock: Pick<Clock, 'monotonicMs'>;
  /** Reports a fault that nobody outside can mend. */
  failed: (path: string, error: unknown) => void;
}

/** Answers what is asked for here, and leaves all else to those behind. */
export function indexNowDoor({ intake, base, proxies, clock, failed }: IndexNowDoorOptions) {
  const senders = new Rate(clock, PER_SECOND, SECOND);
  /** By network: large bodies that are being read. */
  const reading = new Map<string, number>();
  const app = new Hono<{ Bindings: NodeBindings }>();
  app.use(async (c, next) => {
    const { path } = c.req;
    if (PATH.test(path) || (path.startsWith(base) && PATH.test(path.slice(base.length)))) return answer(c);
    await next();
    return undefined;
  });
  return app;

  async function answer(c: Ask): Promise<Response> {
    let sent = 0;
    try {
      const address = clientAddress(c.env.incoming, proxies);
      const waitMs = senders.take(address);
      if (waitMs > 0) throw tooOften('too-often', `too many requests: ${PER_SECOND} a second`, waitMs);
      const network = networkOf(address);
      const request = await requestOf(c, network);
      ({ sent } = request);
      const { status, accepted, refused } = await intake.take(request, network);
      const message = status === 200 ? '' : 'the key file has not been read yet';
      return c.json({ errorCode: status === 200 ? 'Ok' : 'Pending', message, accepted, refused }, status);
    } catch (error) {
      if (!(error instanceof RsRequestRefused) && !isPassing(error)) failed(c.req.path, error);
      const { status, code, message, retryAfterS } = error instanceof RsRequestRefused ? error : busy();
      if (retryAfterS !== undefined) c.header('retry-after', String(retryAfterS));
      if (status === 405) c.header('allow', 'GET, POST');
      return c.json({ errorCode: CODES[status] ?? code, message, accepted: 0, refused: sent }, status);
    }
  }

  /** @throws RsRequestRefused */
  async function requestOf(c: Ask, network: string): Promise<IndexNowRequest> {
    if (c.req.method === 'GET') return requestOfQuery(new URL(c.req.url).searchParams);
    if (c.req.method === 'POST') return requestOfBody(await bodyOf(c, network));
    throw new RsRequestRefused(
      405,
      'InvalidRequest',
      'this is no request of IndexNow',
      'ask with GET or POST',
    );
  }

  /** @throws RsRequestRefused 413, 503 */
  async function bodyOf(c: Ask, network: string): Promise<Buffer> {
    const length = Number(c.req.header('content-length') ?? Infinity);
    if (length <= LARGE_BYTES) return read(c, LARGE_BYTES);
    if (length !== Infinity && length > MAX_BODY_BYTES) throw tooLarge();
    const mine = reading.get(network) ?? 0;
    const all = [...reading.values()].reduce((sum, n) => sum + n, 0);
    if (all >= LARGE_AT_A_TIME || mine >= LARGE_OF_NETWORK)
      throw new RsRequestRefused(503, 'busy', 'too many large requests at a time', 'try again in 1 s', 1);
    reading.set(network, mine + 1);
    try {
      return await read(c, MAX_BODY_BYTES);
    } finally {
      const left = (reading.get(network) ?? 1) - 1;
      if (left === 0) reading.delete(network);
      else reading.set(network, left);
    }
  }

  /** @throws RsRequestRefused 413 */
  async function read(c: Ask, most: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of c.env.incoming as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > most) throw tooLarge();
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }
}

function tooLarge(): RsRequestRefused {
  return new RsRequestRefused(
    413,
    'TooLarge',
    'the request is larger than 8 MB',
    `send at most ${MAX_URLS} urls in one`,
  );
}
