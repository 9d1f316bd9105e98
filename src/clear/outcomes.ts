/** Meaning of a rail's answer, or of none, for the page that was sent: one table by what had to be done. */
import { familyOf, type FetchFailure } from '../fetch/failure.js';
import type { FetchOutcome } from '../fetch/outcome.js';

/** Take the page away; put it there; let the rail get it itself. */
export type PageVerb = 'remove' | 'put' | 'refresh';

export type RailOutcome =
  | { kind: 'done' }
  /** May work soon. `afterMs`: not before. */
  | { kind: 'retry'; error: string; afterMs?: number }
  /** The rail takes no such requests, or not from us: somebody has to set it up. */
  | { kind: 'config'; error: string }
  /** Will never work for this page. */
  | { kind: 'dead'; error: string }
  /** The folder of the page is missing. */
  | { kind: 'no-folder'; error: string }
  /** No connection could be made. */
  | { kind: 'unreachable'; error: string }
  /** The rail took the request and did not answer in time. */
  | { kind: 'unanswered'; error: string };

type Kind = 'done' | 'retry' | 'config' | 'dead' | 'no-folder';

/** The longest that a rail may ask to be left alone. */
export const MAX_RETRY_AFTER_MS = 300_000;

const DONE: Readonly<Record<PageVerb, readonly number[]>> = {
  // A page that is not there has been removed.
  remove: [200, 202, 204, 404, 410],
  put: [200, 201, 202, 204],
  refresh: [200, 203, 204],
};

/** @param done statuses that mean success, where a driver says others than those of the table */
export function outcomeOf(
  answer: FetchOutcome,
  verb: PageVerb,
  done: readonly number[] = DONE[verb],
): RailOutcome {
  if (answer.status === 'unchanged') return { kind: 'retry', error: 'status 304' };
  if (answer.status === 'ok') return ofStatus(answer.http, verb, done, undefined);
  const { failure, http = 0 } = answer;
  if (failure.kind === 'status') return ofStatus(failure.status, verb, done, failure.retryAfterMs);
  // The body of an answer matters to nobody, unless it is the page, which the rail gets itself.
  const isHeadEnough = verb !== 'refresh' && ['broken', 'size'].includes(familyOf(failure.kind));
  return isHeadEnough && done.includes(http) ? { kind: 'done' } : ofFailure(failure, verb);
}

function ofStatus(
  status: number,
  verb: PageVerb,
  done: readonly number[],
  retryAfterMs: number | undefined,
): RailOutcome {
  const kind = done.includes(status) ? 'done' : kindOf(status, verb);
  const error = `status ${status}`;
  if (kind === 'done') return { kind };
  if (kind !== 'retry' || retryAfterMs === undefined) return { kind, error };
  return { kind, error, afterMs: Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) };
}

function kindOf(status: number, verb: PageVerb): Kind {
  if (status === 409) return verb === 'put' ? 'no-folder' : 'retry';
  if ([400, 413, 414].includes(status)) return 'dead';
  if ([401, 403, 404, 405, 407, 410, 415, 501].includes(status)) return 'config';
  // Redirects are not followed: the page would be taken away somewhere else.
  if (status >= 300 && status <= 399) return 'config';
  return 'retry';
}

function ofFailure(failure: Exclude<FetchFailure, { kind: 'status' }>, verb: PageVerb): RailOutcome {
  if (failure.kind === 'sink' || failure.kind === 'source')
    return { kind: 'retry', error: `${failure.kind}: ${String(failure.error)}` };
  const error = `${failure.kind}: ${failure.detail}`;
  switch (familyOf(failure.kind)) {
    case 'no-connection':
    case 'tls':
      return { kind: 'unreachable', error };
    case 'silence':
      return { kind: 'unanswered', error };
    case 'total-timeout':
      // A rail that hangs meets a timeout above, which is the shorter one (config/agreeing-settings.ts): a
      // long page was coming.
      return { kind: verb === 'refresh' ? 'retry' : 'unanswered', error };
    case 'bad-url':
      return { kind: 'dead', error };
    case 'guard':
    case 'redirect':
      return { kind: 'config', error };
    case 'exhausted':
    case 'broken':
    case 'size':
    case 'headers':
    case 'location':
    case 'unexpected-status':
    case 'content':
    case 'cancelled':
    case 'bug':
      return { kind: 'retry', error };
  }
}
