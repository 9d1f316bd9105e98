/** The fetch engine: any number of fetches at a time over kept-alive connections, each with exactly one
 * result. */
import { systemClock, type Clock } from '../lib/clock.js';
import { createConnector, type ClientIdentity, type Resolve } from './connect.js';
import { Fetch } from './fetch.js';
import type { Cancellable, FetchContext, FetchEvents, FetchJob, FetchLimits } from './job.js';
import { createAddressGuard } from './public-addresses.js';
import { HostPlaces } from './host-places.js';
import { Links } from './kept-connections.js';
import { MANNERS_OF_A_CACHE, type Manners } from './manners.js';
import type { Sink } from './sink.js';

export interface EngineOptions extends FetchLimits {
  userAgent: string;
  /** Left out: those of a cache. */
  manners?: Manners;
  /** Networks (CIDR) fetched from although they are not public. */
  allowAddresses: readonly string[];
  /** No others are fetched from. */
  onlyAllowed?: boolean;
  /** Hosts, as urls have them without brackets, fetched from wherever they are. */
  trustedHosts?: ReadonlySet<string>;
  /** Certificates (PEM) of those who may sign a server's, instead of those Node comes with. */
  ca?: Buffer | string;
  /** A server's certificate is not looked at. */
  isInsecure?: boolean;
  /** Certificate of this client for servers that ask who it is. */
  identity?: ClientIdentity;
  maxIdleConnections: number;
  /** Fetches at a time from one host, those that a redirect leads there included. */
  maxConnectionsPerHost: number;
  /** 0: each request has a connection of its own. */
  keepAliveMs: number;
  clock?: Clock;
  resolve?: Resolve;
  /** Called with the address of each connection that is made. */
  connected?: (address: string) => void;
}

/** How late a deadline may be noticed. */
const TICK_MS = 50;

export class FetchEngine {
  readonly #context: FetchContext;
  readonly #clock: Clock;
  readonly #active = new Set<Fetch>();
  #ticking = false;

  /** @throws LccError `usage` for a malformed network in `allowAddresses` */
  constructor(options: EngineOptions) {
    const permits = createAddressGuard(options.allowAddresses, options.onlyAllowed);
    const { trustedHosts } = options;
    const trusts = trustedHosts && ((host: string) => trustedHosts.has(host));
    const manners = options.manners ?? MANNERS_OF_A_CACHE;
    this.#clock = options.clock ?? systemClock;
    this.#context = {
      links: new Links({ ...options, connect: createConnector({ ...options, permits, trusts }) }),
      places: new HostPlaces(options.maxConnectionsPerHost),
      limits: options,
      manners,
      wording: { userAgent: options.userAgent, manners, isKept: options.keepAliveMs > 0 },
      clock: this.#clock,
      ended: fetch => this.#active.delete(fetch as Fetch),
    };
  }

  /**
   * Fetches now. `events.done` is called exactly once, possibly before this returns.
   * @param sink gets the content of the answer, if it has any; used for nothing else
   */
  fetch(job: FetchJob, sink: Sink, events: FetchEvents): Cancellable {
    const fetch = new Fetch(this.#context, job, sink, this.#clock.monotonicMs(), events);
    this.#active.add(fetch);
    if (!this.#ticking) this.#tick();
    fetch.start();
    return fetch;
  }

  /** Fetches under way. */
  get activeCount(): number {
    return this.#active.size;
  }

  /** Connections kept for later. */
  get idleConnections(): number {
    return this.#context.links.idleCount;
  }

  /** Cancels what is under way (each gets its result) and closes all connections. */
  close(): void {
    for (const fetch of this.#active) fetch.cancel();
    this.#context.links.close();
  }

  /** One timer for all deadlines: setting and clearing one per fetch would cost more than looking at all of
   * them. */
  #tick(): void {
    this.#ticking = this.#active.size > 0;
    if (!this.#ticking) return;
    this.#clock.after(TICK_MS, () => {
      const nowMs = this.#clock.monotonicMs();
      for (const fetch of this.#active) fetch.checkDeadlines(nowMs);
      this.#tick();
    });
  }
}
