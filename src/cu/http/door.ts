/**
 * `GET /changes`: the change sequence for programs that speak HTTP (docs/design/change-feed.md).
 *
 *     asked ──its reader is known──▶ answering ──all is told, nothing new──▶ waiting ──a commit──▶ answering
 *       │                              │  a poll: its cursor, over           │  a stream: a comment each 15 s
 *       ╰── refused                    ╰── takes nothing: cut                ╰── its time is over: over
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Bound, Services } from '../../daemon/types.js';
import { storageError } from '../../db/sqlite/open.js';
import type { Endpoint } from '../../lib/endpoint.js';
import { LccError, messageOf } from '../../lib/errors.js';
import { rawAnswer, send } from '../../web/answer.js';
import { WEB_LIMITS, withoutPlace } from '../../web/limits.js';
import { connectionOf, serveWeb, untimed, type WebServer } from '../../web/server.js';
import { sendStream } from '../../web/stream.js';
import { Bringer } from '../peers/bringer.js';
import type { CuParts } from '../server/session.js';
import { CommitWatch } from './commit-watch.js';
import { ChangeFeed } from './feed.js';
import { logIn } from './login.js';
import { FeedRefusal, later, refusalFor } from './refusal.js';
import { feedAsked } from './request.js';

const METHODS = 'GET, HEAD';
/** Readers at a time, each with a connection: one that waits has a place. */
const PLACES: Bound = {
  key: 'cu.max_streams',
  ofAddress: { key: 'cu.max_streams_per_address' },
  whose: 'readers of changes',
  ...withoutPlace(message => rawAnswer(later(message).answer)),
};

interface DoorParts extends CuParts {
  /** Called when the process must end: a bug. */
  fail: (error: unknown) => void;
}

export class ChangesDoor {
  readonly #parts: DoorParts;
  readonly #commits: CommitWatch;
  /** Readers that are being answered, or wait. */
  readonly #open = new Set<AbortController>();
  #server: WebServer | undefined;
  #isStopping = false;

  constructor(parts: DoorParts) {
    this.#parts = parts;
    this.#commits = new CommitWatch(parts.cache, parts.options.dbPath, parts.clock);
  }

  /** Readers at a time. */
  get count(): number {
    return this.#open.size;
  }

  /** @returns endpoints as bound @throws as `Services.listen` */
  async listen(
    services: Pick<Services, 'listen' | 'clock' | 'log'>,
    endpoints: readonly Endpoint[],
  ): Promise<readonly Endpoint[]> {
    const listener = (request: IncomingMessage, response: ServerResponse) =>
      void this.#answer(request, response).catch((error: unknown) => this.#parts.fail(error));
    this.#server = await serveWeb(services, endpoints, listener, WEB_LIMITS, PLACES);
    return this.#server.endpoints;
  }

  /** Ends all streams between two events, and answers those that wait. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const over of this.#open) over.abort();
    await this.#server?.close();
  }

  /** Never rejects but for a bug. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const over = new AbortController();
    this.#open.add(over);
    response.once('close', () => {
      this.#open.delete(over);
      over.abort();
    });
    untimed(request);
    try {
      await this.#tell(request, response, over.signal);
    } catch (error) {
      this.#failed(request, response, error);
    }
  }

  async #tell(request: IncomingMessage, response: ServerResponse, over: AbortSignal): Promise<void> {
    const { options, peers, backoff, counted, clock, log } = this.#parts;
    const { limits } = options;
    const isAllowed = this.#allowOrigin(request, response);
    const path = request.url?.replace(/\?.*/s, '') ?? '';
    if (path !== '/changes' && path !== `${options.httpBase}/changes`)
      throw new FeedRefusal(404, 104, 'there is nothing here', `ask for ${options.httpBase}/changes`);
    if (request.method === 'OPTIONS' && isAllowed) return send(request, response, { status: 204 });
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new FeedRefusal(405, 104, 'changes are only read', `ask with ${METHODS.replace(',', ' or')}`, {
        allow: METHODS,
      });
    const { address, peer } = connectionOf(request);
    // The mode of a Unix socket decides which users may open it.
    if (address !== '' && !options.anonymous) {
      const reader = await logIn(request, address, { readers: options.readers, backoff, clock }, over);
      log.debug('reader logged in', { peer, reader });
    }
    if (this.#isStopping) throw later('temporarily off-line: the daemon stops');
    const asked = feedAsked(request);
    counted('queries', 1);
    const feed = new ChangeFeed(asked, {
      ...this.#parts,
      bringer: peers && new Bringer(peers, false),
      commits: this.#commits,
      over,
    });
    const type = asked.isStream ? 'text/event-stream' : 'application/x-ndjson';
    response.appendHeader('vary', 'accept');
    // Proxies hold back what they have not been told to pass on.
    if (asked.isStream) response.setHeader('x-accel-buffering', 'no');
    const body = asked.isStream ? feed.events(limits.streamMs) : feed.poll();
    await sendStream(
      request,
      response,
      { type, body },
      { clock, stallMs: limits.stallTimeoutMs, counted: by => counted('bytes_sent', by) },
    );
  }

  /** @returns whether a page of that origin may read the answer */
  #allowOrigin({ headers }: IncomingMessage, response: ServerResponse): boolean {
    const { httpOrigins } = this.#parts.options.limits;
    const { origin } = headers;
    if (httpOrigins.length > 0) response.appendHeader('vary', 'origin');
    if (origin === undefined || !httpOrigins.includes(origin)) return false;
    response
      .setHeader('access-control-allow-origin', origin)
      .setHeader('access-control-allow-credentials', 'true')
      .setHeader('access-control-allow-methods', METHODS)
      .setHeader('access-control-allow-headers', 'authorization, last-event-id')
      .setHeader('cross-origin-resource-policy', 'cross-origin');
    return true;
  }

  #failed(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    const { counted, options, log } = this.#parts;
    const { peer } = connectionOf(request);
    if (error instanceof LccError && error.code === 'peer.unavailable') return;
    if (error instanceof LccError && error.code === 'limit') {
      counted('streams_stalled', 1);
      return log.info('reader cut off', { peer, reason: error.message });
    }
    let refusal = refusalFor(error);
    if (refusal === undefined) {
      log.error('cannot answer', { peer, error: messageOf(storageError(options.dbPath, error)) });
      refusal = later('the LCC cannot be read');
    } else {
      counted('refused', 1);
      log.info('reader refused', { peer, status: refusal.answer.status, reason: refusal.message });
    }
    // A stream that has begun is cut; its reader asks again, and is told.
    if (!response.headersSent) send(request, response, refusal.answer);
  }
}
