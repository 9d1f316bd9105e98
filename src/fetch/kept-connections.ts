/**
 * Connections kept alive, by origin. A fetch has a link for itself as long as it needs it, so nothing one
 * server sends can reach a fetch it was not asked by; a finished one goes back on its origin's pile, and the
 * most recently used is taken first. Idle links are bounded: the one idle longest is closed for a new one.
 */
import type { Socket } from 'node:net';
import Client from 'undici/lib/dispatcher/client.js';
import { fail, FetchError } from './failure.js';
import type { Connector } from './connect.js';
import type { ParserNotes } from './undici-mends.js';
import type { ReceivingEnd } from './receiving-end.js';

/** Connections made for one request before it is given up: a peer that accepts and closes must not go on for
 * ever. */
const MAX_CONNECTS = 3;
/** Bytes that may come over a connection without a request: records of TLS, a goodbye. */
const IDLE_BYTES = 64 * 1024;

interface LinksOptions {
  connect: Connector;
  maxHeaderBytes: number;
  /** Idle links kept over all origins. */
  maxIdleConnections: number;
  /** How long an idle one is kept unless the server asks for less; 0: none is. */
  keepAliveMs: number;
}

export interface Link {
  readonly origin: string;
  /** Address of the link, where the name in `origin` does not say it; such a link is used once. */
  readonly address: string | undefined;
  readonly client: Client;
  /** The socket that is being connected, until it is. */
  connecting: Socket | undefined;
  /** Intake of the connection in use now; undefined before the first. */
  intake: ReceivingEnd | undefined;
  notes: ParserNotes | undefined;
  /** True if it carried an answer before this one: it may have been closed by the server meanwhile. */
  reused: boolean;
  connects: number;
  idle: boolean;
}

export class Links {
  readonly #options: LinksOptions;
  readonly #idle = new Map<string, Link[]>();
  /** All idle links, the one idle longest first. */
  readonly #order = new Set<Link>();

  constructor(options: LinksOptions) {
    this.#options = options;
  }

  /** The connector for those who want no link. */
  get connect(): Connector {
    return this.#options.connect;
  }

  /** True if links are kept for later. */
  get areKept(): boolean {
    return this.#options.keepAliveMs > 0;
  }

  /** An idle link to `origin`, or a new one. `fresh`, or with an address: a new one in any case. */
  take(origin: string, fresh: boolean, address?: string): Link {
    const link = fresh || address !== undefined ? undefined : this.#idle.get(origin)?.pop();
    if (link === undefined) return this.#create(origin, address);
    this.#order.delete(link);
    link.idle = false;
    link.connects = 0;
    link.reused = true;
    return link;
  }

  /** Takes back a link after its answer was read to the end. */
  release(link: Link): void {
    if (!this.areKept || link.address !== undefined) {
      this.discard(link);
      return;
    }
    link.idle = true;
    link.intake?.allow(IDLE_BYTES, () => this.discard(link));
    this.#order.add(link);
    const pile = this.#idle.get(link.origin);
    if (pile !== undefined) pile.push(link);
    else {
      // Empty piles stay for the next link of their origin, but not those of every origin ever seen.
      if (this.#idle.size > 2 * this.#options.maxIdleConnections) this.#sweep();
      this.#idle.set(link.origin, [link]);
    }
    if (this.#order.size > this.#options.maxIdleConnections) {
      for (const oldest of this.#order) {
        this.discard(oldest);
        break;
      }
    }
  }

  /** Closes a link for good. */
  discard(link: Link): void {
    if (link.idle) this.#forget(link);
    link.client.destroy(null, () => undefined);
    // undici would leave it alone until its own time is over.
    link.connecting?.destroy(new FetchError(fail('cancelled', 'given up')));
  }

  /** Idle links now. */
  get idleCount(): number {
    return this.#order.size;
  }

  close(): void {
    for (const link of this.#order) this.discard(link);
  }

  #create(origin: string, address: string | undefined): Link {
    const { maxHeaderBytes, keepAliveMs } = this.#options;
    const client = new Client(origin, {
      pipelining: 1,
      maxHeaderSize: maxHeaderBytes,
      // The fetch has one deadline over everything; undici's timers neither end a drip nor endless 1xx.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: Math.max(1, keepAliveMs),
      keepAliveMaxTimeout: Math.max(1, keepAliveMs),
      connect: (options, callback) => {
        if (++link.connects > MAX_CONNECTS) {
          callback(new FetchError(fail('reset', `${link.origin} accepts connections and closes them`)), null);
          return;
        }
        link.reused = false;
        const target = address === undefined ? options : { ...options, address };
        link.connecting = this.connect(target, (error, intake) => {
          link.connecting = undefined;
          if (error !== null || intake === null) {
            callback(error ?? new FetchError(fail('connect-failed', link.origin)), null);
            return;
          }
          link.intake = intake;
          callback(null, intake.socket);
        });
      },
    });
    const link: Link = {
      origin,
      address,
      client,
      intake: undefined,
      notes: undefined,
      connecting: undefined,
      reused: false,
      connects: 0,
      idle: false,
    };
    client.on('disconnect', () => {
      if (link.idle) this.discard(link);
    });
    return link;
  }

  #forget(link: Link): void {
    link.idle = false;
    this.#order.delete(link);
    const pile = this.#idle.get(link.origin);
    if (pile === undefined) return;
    const at = pile.lastIndexOf(link);
    if (at >= 0) pile.splice(at, 1);
    if (pile.length === 0) this.#idle.delete(link.origin);
  }

  #sweep(): void {
    for (const [origin, pile] of this.#idle) if (pile.length === 0) this.#idle.delete(origin);
  }
}
