/** The fetch engine as cache clearing needs it: servers that stand where the administrator says, also inside
 * of a network, asked once each; no redirects, nothing that takes longer than its deadlines. */
import { lookup } from 'node:dns';
import { FetchEngine, type EngineOptions } from '../fetch/engine.js';
import { HEADER_LIMITS } from '../fetch/exchange-owner.js';
import type { Clock } from '../lib/clock.js';

const DRAIN_TIMEOUT_MS = 1000;
const USER_AGENT = 'lcc-clear/1';
const EVERYWHERE = ['0.0.0.0/0', '::/0'];

interface ClearTimes {
  connectTimeoutMs: number;
  /** To the answer, and between two bytes of it. */
  answerTimeoutMs: number;
  totalTimeoutMs: number;
  keepAliveMs: number;
}

type Own = 'maxContentBytes' | 'contentLimitText' | 'maxIdleConnections' | 'ca' | 'identity';

/** @param own what differs from one kind of server to the other */
export function clearEngine(times: ClearTimes, own: Pick<EngineOptions, Own>, clock: Clock): FetchEngine {
  return new FetchEngine({
    connectTimeoutMs: times.connectTimeoutMs,
    headersTimeoutMs: times.answerTimeoutMs,
    idleTimeoutMs: times.answerTimeoutMs,
    totalTimeoutMs: times.totalTimeoutMs,
    drainTimeoutMs: DRAIN_TIMEOUT_MS,
    keepAliveMs: times.keepAliveMs,
    minRateBytesPerS: 0,
    minRateText: 'any',
    minRateWindowMs: times.totalTimeoutMs,
    slowAfterMs: times.totalTimeoutMs,
    ...HEADER_LIMITS,
    maxRedirects: 0,
    redirectLimitText: '0',
    userAgent: USER_AGENT,
    allowAddresses: EVERYWHERE,
    maxConnectionsPerHost: Infinity,
    resolve: lookup,
    clock,
    ...own,
  });
}

/**
 * Headers of a request to a rail, or to the load balancer of a target, the Host first.
 * @param host null: that of the url
 * @param headers names in lower case and values by turns; a host among them wins
 */
export function withHost(host: string | null, headers: readonly string[] = []): readonly string[] {
  const names = headers.filter((_, i) => i % 2 === 0);
  return host === null || names.includes('host') ? headers : ['host', host, ...headers];
}

/** The url of a page on a server whose url may end with a slash. */
export function pageOn(server: string, path: string): string {
  return server.replace(/\/$/, '') + path;
}
