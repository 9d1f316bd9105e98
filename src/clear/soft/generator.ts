/**
 * Asks the load balancer of a target for a page under a name that no cache has. Only a whole page counts: status 200, a length
 * that was stated and came, neither empty nor larger than permitted, and, where a pattern is set, one that has it.
 */
import { lookup } from 'node:dns';
import { FetchEngine } from '../../fetch/engine.js';
import type { FetchOutcome } from '../../fetch/outcome.js';
import { MemorySink } from '../../fetch/sink.js';
import type { Clock } from '../../lib/clock.js';
import type { ClearOptions } from '../options.js';
import { outcomeOf } from '../outcomes.js';
import type { TargetMap } from '../target-map.js';

export type Generated =
  | { kind: 'page'; bytes: Buffer }
  /** The load balancer says that there is no such page. */
  | { kind: 'gone'; error: string }
  /** `afterMs`: not before. */
  | { kind: 'failed'; error: string; afterMs?: number };

/** What is asked: an elementary target's load balancer. */
export interface PageOrigin {
  lbUrl: string;
  host: string | null;
}

export interface PageSource {
  generate(origin: PageOrigin, url: string): Promise<Generated>;
  /** Gives up what is under way, and closes connections. */
  close(): void;
}

const MAX_HEADER_BYTES = 64 * 1024;
const DRAIN_TIMEOUT_MS = 1000;
const USER_AGENT = 'lcc-clear/1';
const EVERYWHERE = ['0.0.0.0/0', '::/0'];
const GONE: readonly number[] = [404, 410];

/** The load balancer of a target, or of the nearest group above that has one. */
export function originOf(map: TargetMap, target: string): PageOrigin | undefined {
  for (const name of [target, ...map.groupsAbove(target)]) {
    const row = map.get(name);
    if (row !== undefined && row.lbUrl !== null) return { lbUrl: row.lbUrl, host: row.host };
  }
  return undefined;
}

export class Generator implements PageSource {
  readonly #limits: ClearOptions['soft'];
  readonly #engine: FetchEngine;

  constructor(limits: ClearOptions['soft'], connect: ClearOptions['sender'], clock: Clock) {
    this.#limits = limits;
    this.#engine = new FetchEngine({
      connectTimeoutMs: connect.connectTimeoutMs,
      headersTimeoutMs: limits.answerTimeoutMs,
      idleTimeoutMs: limits.answerTimeoutMs,
      totalTimeoutMs: limits.totalTimeoutMs,
      drainTimeoutMs: DRAIN_TIMEOUT_MS,
      keepAliveMs: connect.keepAliveMs,
      minRateBytesPerS: 0,
      minRateText: 'any',
      minRateWindowMs: limits.totalTimeoutMs,
      slowAfterMs: limits.totalTimeoutMs,
      maxContentBytes: limits.maxPageBytes,
      contentLimitText: limits.maxPageText,
      maxHeaderBytes: MAX_HEADER_BYTES,
      headerLimitText: '64 KB',
      maxRedirects: 0,
      redirectLimitText: '0',
      http2: false,
      userAgent: USER_AGENT,
      // The load balancer stands where the administrator says, also inside of a network.
      allowAddresses: EVERYWHERE,
      maxIdleConnections: limits.generators,
      maxConnectionsPerHost: Infinity,
      resolve: lookup,
      clock,
    });
  }

  /** Resolves whatever happens. */
  generate({ lbUrl, host }: PageOrigin, url: string): Promise<Generated> {
    const sink = new MemorySink();
    const headers = host === null ? [] : ['host', host];
    return new Promise(resolve => {
      this.#engine.fetch({ url: lbUrl.replace(/\/$/, '') + url, roots: [], headers }, sink, {
        done: outcome => resolve(this.#generatedOf(outcome, sink)),
      });
    });
  }

  close(): void {
    this.#engine.close();
  }

  #generatedOf(outcome: FetchOutcome, sink: MemorySink): Generated {
    if (outcome.status !== 'ok') return failureOf(outcome);
    const refuse = (error: string): Generated => ({ kind: 'failed', error });
    if (outcome.http !== 200) return refuse(`status ${outcome.http}`);
    if (!outcome.verified) return refuse('it may be cut: the answer has no length');
    const bytes = sink.bytes();
    if (bytes.length === 0) return refuse('the page is empty');
    const { mustMatch } = this.#limits;
    if (mustMatch !== undefined && !mustMatch.test(bytes.toString('utf8')))
      return refuse(`the page has nothing that clear.soft_must_match demands`);
    return { kind: 'page', bytes };
  }
}

function failureOf(outcome: FetchOutcome): Generated {
  if (outcome.status === 'error' && outcome.failure.kind === 'status') {
    const { status } = outcome.failure;
    if (GONE.includes(status)) return { kind: 'gone', error: `status ${status}` };
  }
  const said = outcomeOf(outcome, 'refresh');
  if (said.kind === 'done') return { kind: 'failed', error: 'no page came' };
  const afterMs = said.kind === 'retry' ? said.afterMs : undefined;
  return { kind: 'failed', error: said.error, ...(afterMs !== undefined && { afterMs }) };
}
