/** How a fetch ended, in the words of a record: its success, its reason, the last status that was seen, the
 * url to use instead. */
import type { FetchFailure, PlainKind } from '../../fetch/failure.js';
import { HTTP_0_9 } from '../../fetch/head.js';
import type { FetchOutcome } from '../../fetch/outcome.js';
import { httpByte, type SpiderReason } from '../../wire/spider-codes.js';
import { MAX_RECORD_URL_BYTES, type SpiderRecord } from '../../wire/spider-record.js';

/** The fields of a record that the fetch decides. */
export type FetchEnd = Pick<
  SpiderRecord,
  'success' | 'reason' | 'redirected' | 'cut' | 'http' | 'durationMs' | 'newUrl'
>;

const REASONS: Record<PlainKind, SpiderReason> = {
  'bad-url': 'bad-url',
  dns: 'no-such-name',
  'dns-temporary': 'name-trouble',
  guard: 'address-forbidden',
  refused: 'refused',
  unreachable: 'unreachable',
  'connect-timeout': 'connect-timeout',
  tls: 'tls',
  'connect-failed': 'unreachable',
  exhausted: 'internal',
  'headers-timeout': 'header-timeout',
  'idle-timeout': 'idle-timeout',
  'too-slow': 'idle-timeout',
  'total-timeout': 'total-timeout',
  reset: 'reset',
  cut: 'short-body',
  contradicted: 'short-body',
  'too-large': 'internal',
  // Chunks of next to nothing, each with an extension: what surrounds the content has no end.
  flood: 'transfer-encoding',
  'headers-flood': 'headers-too-large',
  malformed: 'protocol',
  'headers-too-big': 'headers-too-large',
  'content-length': 'content-length',
  framing: 'transfer-encoding',
  interim: 'too-many-1xx',
  coding: 'content-coding',
  'unexpected-status': 'http-other',
  'no-location': 'no-location',
  'bad-location': 'bad-target',
  'redirect-loop': 'redirect-loop',
  'too-many-redirects': 'too-many-redirects',
  'redirect-outside': 'bad-target',
  'redirect-downgrade': 'forbidden-target',
  'other-type': 'mime',
  'unaccepted-type': 'mime',
  differs: 'internal',
  cancelled: 'cancelled',
  bug: 'internal',
};

/** @param docBytes of the content that came */
export function endOf(outcome: FetchOutcome, docBytes: number): FetchEnd {
  const { elapsedMs } = outcome;
  if (outcome.status === 'error') {
    const redirected = outcome.isRedirected === true;
    return failed(reasonOf(outcome.failure, redirected), {
      redirected,
      http: byteOf(outcome.http),
      durationMs: elapsedMs,
    });
  }
  const redirected = outcome.status === 'ok' && outcome.finalUrl !== undefined;
  const cost = { redirected, http: byteOf(outcome.http), durationMs: elapsedMs };
  if (outcome.status === 'unchanged' || !isDocument(outcome.http)) return failed('http-other', cost);
  const { movedTo = '', isCut = false } = outcome;
  return {
    ...cost,
    success: true,
    reason: docBytes === 0 && !isCut ? 'empty' : 'ok',
    cut: isCut,
    newUrl: movedTo.length > MAX_RECORD_URL_BYTES ? '' : movedTo,
  };
}

/** A transaction that ends without a fetch. */
export function unfetched(reason: SpiderReason): FetchEnd {
  return failed(reason, { redirected: false, http: httpByte(undefined), durationMs: 0 });
}

function failed(reason: SpiderReason, cost: Pick<FetchEnd, 'redirected' | 'http' | 'durationMs'>): FetchEnd {
  return { ...cost, success: false, reason, cut: false, newUrl: '' };
}

function reasonOf(failure: FetchFailure, redirected: boolean): SpiderReason {
  if (failure.kind === 'status') return failure.status >= 500 ? 'http-5xx' : 'http-4xx';
  if (!('detail' in failure)) return 'internal';
  return failure.kind === 'guard' && redirected ? 'forbidden-target' : REASONS[failure.kind];
}

function isDocument(status: number): boolean {
  return status === 200 || status === 203 || status === HTTP_0_9;
}

function byteOf(status: number | undefined): number {
  return httpByte(status === HTTP_0_9 ? 'HTTP/0.9' : status);
}
