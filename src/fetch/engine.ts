/** The fetch engine: any number of fetches at a time over kept-alive connections, each with exactly one result. */
import { systemClock, type Clock } from '../lib/clock.js';
import { createConnector, type Resolve } from './connect.js';
import { Fetch } from './fetch.js';
import type { FetchAhead, FetchContext, FetchJob, FetchLimits, FetchOutcome } from './job.js';
import { createAddressGuard } from './guard.js';
import { HostPlaces } from './host-places.js';
import { Links } from './links.js';
import { FileWriter } from '../bot/writer.js';

export interface EngineOptions extends FetchLimits {
  /** Speak HTTP/2 with https sites that offer it. */
  http2: boolean;
  userAgent: string;
  /** Networks (CIDR) fetched from although they are not public. */
  allowAddresses: readonly string[];
  /** Sync every file and its directory before its result is given. */
  syncContent: boolean;
  maxIdleConnections: number;
  /** Fetches at a time from one host, those that a redirect leads there included. */
  maxConnectionsPerHost: number;
  keepAliveMs: number;
  clock?: Clock;
  resolve?: Resolve;
}

/** Fetches under way from which on content is written by a thread of its own. */
const BUSY_FETCHES = 8;

/** How late a deadline may be noticed. */
const TICK_MS = 50;

export class FetchEngine {
  readonly #context: FetchContext;
  readonly #clock: Clock;
  readonly #active = new Set<Fetch>();
  #ticking = false;
  #attempts = 0;

  /** @throws LccError `usage` for a malformed network in `allowAddresses` */
  constructor(options: EngineOptions) {
    const permits = createAddressGuard(options.allowAddresses);
    const { connectTimeoutMs, resolve } = options;
    const connector = (http2: boolean) => createConnector({ permits, connectTimeoutMs, http2, resolve });
    this.#clock = options.clock ?? systemClock;
    // Unique across restarts and machines sharing a store; nobody gains by guessing it, so it need not load all of crypto.
    const run = [process.pid, this.#clock.nowMs(), Math.floor(Math.random() * 2 ** 48)]
      .map(part => part.toString(36))
      .join('-');
    this.#context = {
      links: new Links({
        connect: connector(false),
        connectHttp2: options.http2 ? connector(true) : undefined,
        maxHeaderBytes: options.maxHeaderBytes,
        maxIdle: options.maxIdleConnections,
        keepAliveMs: options.keepAliveMs,
      }),
      places: new HostPlaces(options.maxConnectionsPerHost),
      limits: options,
      userAgent: options.userAgent,
      syncContent: options.syncContent,
      writer: new FileWriter(),
      clock: this.#clock,
      nextAttempt: () => `${run}-${++this.#attempts}`,
      isBusy: () => this.#active.size >= BUSY_FETCHES,
      ended: fetch => this.#active.delete(fetch),
    };
  }

  /**
   * Fetches now. `done` is called exactly once, possibly before this returns.
   * @param ahead for an owner with more to do: `received` is called at most once and before `done`, when the site is not
   * asked for anything more but the content is not in its place yet; `busy` says whether it would begin something then
   */
  fetch(job: FetchJob, done: (outcome: FetchOutcome) => void, ahead?: FetchAhead): { cancel(): void } {
    const fetch = new Fetch(this.#context, job, this.#clock.monotonicMs(), done, ahead);
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
    this.#context.writer.close();
  }

  /** One timer for all deadlines: setting and clearing one per fetch would cost more than looking at all of them. */
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
