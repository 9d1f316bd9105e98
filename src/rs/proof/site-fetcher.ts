/** Small requests to one site, over an engine of its own: nothing is shared with other sites, and all of it
 * can be ended at once. */
import { lookup } from 'node:dns';
import ipaddr from 'ipaddr.js';
import type { Settings } from '../../config/settings/index.js';
import type { Resolve } from '../../fetch/connect.js';
import { FetchEngine } from '../../fetch/engine.js';
import { HEADER_LIMITS } from '../../fetch/exchange-owner.js';
import { fail, type FetchFailure } from '../../fetch/failure.js';
import type { FetchJob } from '../../fetch/job.js';
import type { FetchOutcome } from '../../fetch/outcome.js';
import { MemorySink } from '../../fetch/sink.js';
import type { Clock } from '../../lib/clock.js';
import { isIn, parseNetwork } from '../../lib/network.js';
import { portOf, type Site } from '../site.js';

export interface SiteFetcherOptions {
  clock: Clock;
  fetchTimeoutMs: number;
  userAgent: string;
  /** Networks (CIDR) fetched from although they are not public. */
  allowAddresses: readonly string[];
  /** Left out: the system's. */
  resolve?: Resolve;
  /** Certificates (PEM) of those who may sign a site's, instead of those Node comes with. */
  ca?: string;
}

export function engineOptionsOf({ rs, bot }: Settings): Omit<SiteFetcherOptions, 'clock'> {
  return { fetchTimeoutMs: rs.fetchTimeoutMs, userAgent: bot.userAgent, allowAddresses: bot.allowAddresses };
}

export type SiteAnswer =
  | { kind: 'content'; status: number; bytes: Buffer; url: string }
  | { kind: 'failed'; failure: FetchFailure };

/** Of the largest that anybody asks for, a feed; each job says less. */
export const MAX_CONTENT_BYTES = 8 * 1024 * 1024;
const DRAIN_TIMEOUT_MS = 1000;
const MAX_REDIRECTS = 5;

export class SiteFetcher {
  readonly #engine: FetchEngine;
  /** Addresses that were connected to. */
  readonly addresses = new Set<string>();

  constructor(site: Pick<Site, 'isInner'>, options: SiteFetcherOptions) {
    const { clock, fetchTimeoutMs, userAgent, allowAddresses, resolve, ca } = options;
    this.#engine = new FetchEngine({
      connectTimeoutMs: fetchTimeoutMs,
      headersTimeoutMs: fetchTimeoutMs,
      idleTimeoutMs: fetchTimeoutMs,
      totalTimeoutMs: fetchTimeoutMs,
      drainTimeoutMs: DRAIN_TIMEOUT_MS,
      keepAliveMs: fetchTimeoutMs,
      minRateBytesPerS: 0,
      minRateText: 'any',
      minRateWindowMs: fetchTimeoutMs,
      slowAfterMs: fetchTimeoutMs,
      maxContentBytes: MAX_CONTENT_BYTES,
      contentLimitText: '8 MB',
      ...HEADER_LIMITS,
      maxRedirects: MAX_REDIRECTS,
      redirectLimitText: String(MAX_REDIRECTS),
      userAgent,
      allowAddresses,
      maxIdleConnections: 1,
      maxConnectionsPerHost: 1,
      clock,
      resolve: site.isInner ? innerOnly(resolve ?? lookup, allowAddresses) : (resolve ?? lookup),
      ...(ca !== undefined && { ca }),
      connected: address => void this.addresses.add(address),
    });
  }

  /**
   * A small file, whole.
   * @param roots where redirects may lead, each with all below it
   * @param maxBytes of content; more is a failure
   */
  get(url: string, roots: readonly string[], maxBytes: number): Promise<SiteAnswer> {
    return this.#fetch({ url, roots, maxBytes });
  }

  /**
   * The beginning of a file, wherever redirects lead: to any host at an address that may be asked, but no
   * other port.
   * @param maxBytes of content; what is beyond is not read
   * @param ports as texts
   */
  async getBeginning(url: string, maxBytes: number, ports: readonly string[]): Promise<SiteAnswer> {
    let at = url;
    for (let hops = 0; ; hops++) {
      const answer = await this.#fetch({ url: at, roots: [], redirects: 'report', inline: maxBytes });
      const to = answer.kind === 'failed' ? locationIn(answer.failure) : undefined;
      if (to === undefined) return answer;
      const refused = refusalOf(to, at, hops, ports);
      if (refused !== undefined) return { kind: 'failed', failure: refused };
      at = to;
    }
  }

  async #fetch(job: FetchJob): Promise<SiteAnswer> {
    const { outcome, bytes } = await this.ask(job);
    if (outcome.status === 'error') return { kind: 'failed', failure: outcome.failure };
    const url = ('finalUrl' in outcome ? outcome.finalUrl : undefined) ?? job.url;
    return { kind: 'content', status: outcome.http, bytes, url };
  }

  /** One request, whatever it is: its outcome, and the content in memory. */
  ask(job: FetchJob): Promise<{ outcome: FetchOutcome; bytes: Buffer }> {
    const sink = new MemorySink(false);
    return new Promise(resolve => {
      const done = (outcome: FetchOutcome) => resolve({ outcome, bytes: sink.bytes() });
      this.#engine.fetch(job, sink, { done });
    });
  }

  /** Fetches under way fail; connections are closed. */
  close(): void {
    this.#engine.close();
  }
}

function locationIn(failure: FetchFailure): string | undefined {
  return failure.kind === 'status' ? failure.location : undefined;
}

/** Why a redirect is not followed. */
function refusalOf(
  to: string,
  from: string,
  hops: number,
  ports: readonly string[],
): FetchFailure | undefined {
  if (hops >= MAX_REDIRECTS) return fail('too-many-redirects', `more than ${MAX_REDIRECTS}`);
  if (new URL(to).protocol !== 'https:' && from.startsWith('https:')) return fail('redirect-downgrade', to);
  return ports.includes(portOf(to)) ? undefined : fail('redirect-outside', to);
}

/** A name without a dot is of this network: it may mean what the operator allows, and no public address. */
function innerOnly(resolve: Resolve, allowAddresses: readonly string[]): Resolve {
  const allowed = allowAddresses.map(parseNetwork);
  return (hostname, options, callback) =>
    resolve(hostname, options, (error, found) =>
      callback(
        error,
        (found ?? []).filter(({ address }) => isIn(allowed, ipaddr.process(address))),
      ),
    );
}
