/**
 * How long a robots.txt counts, and what an answer to the request for one means (RFC 9309, 2.3.1 and 2.4).
 *
 *     none ──asked──▶ an answer: 2xx its rules, 4xx but 429 no rules ──a day──▶ asked again, conditionally
 *       ╰──────────▶ no answer: 5xx, 429, nothing ──with a copy of 30 days──▶ its rules, again after an hour
 *                                                 ╰─without──▶ unannounced urls wait as for an absent site
 */
import type { OriginPause, StoredRobots } from '../db/queue/robots-txt.js';
import { UNPERMITTED } from '../wire/codes.js';
import type { FetchDone, FetchInline } from '../wire/fetch.js';

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
/** An answer is good for that long … */
const FRESH_S = DAY_S;
/** … and a copy that could not be renewed. */
const COPY_S = 30 * DAY_S;
/** Until the next try to renew a copy. */
const RETRY_S = HOUR_S;

/** Seconds for which a setting of the LCC forbids: it may change. */
const UNPERMITTED_S = 60;

const NO_PAUSE: OriginPause = { failures: 0, again: 0 };

const TOO_MANY_REQUESTS = 429;
/**
 * Too large before it was decoded, redirects without an end, or to what is no public host: there is none to
 * be had.
 */
const UNAVAILABLE: readonly number[] = [606, 608, 609, UNPERMITTED];

/**
 * True if a status says that a site has no robots.txt: any that blames who asks, but for asking too often.
 */
export function isNoRobots(status: number): boolean {
  return status >= 400 && status <= 499 && status !== TOO_MANY_REQUESTS;
}

/** Meaning of the last answer: it has rules, there are none, or nobody knows. */
export type RobotsMeaning = 'rules' | 'none' | 'unknown';

/** Result of a request for a robots.txt. */
export type RobotsResult = FetchInline | FetchDone;

export function meaningOf({ http, body, fetched }: StoredRobots, nowS: number): RobotsMeaning {
  if (http >= 200 && http <= 299) return 'rules';
  if (isUnavailable(http)) return 'none';
  return body !== null && ageOf(fetched, nowS) < COPY_S ? 'rules' : 'unknown';
}

/** True if it must be asked for again before anything is judged by it. */
export function isStale(row: StoredRobots, nowS: number): boolean {
  const meaning = meaningOf(row, nowS);
  if (meaning === 'unknown') return true;
  if (row.http === UNPERMITTED) return ageOf(row.checked, nowS) >= UNPERMITTED_S;
  const isAnswered = isUnavailable(row.http) || (row.http >= 200 && row.http <= 299);
  return ageOf(row.checked, nowS) >= (isAnswered ? FRESH_S : RETRY_S);
}

/** The robots.txt to be kept after an answer. @param before what was kept until then */
export function robotsAfter(
  before: StoredRobots | undefined,
  result: RobotsResult,
  nowS: number,
): StoredRobots {
  if (result.status === 'inline') {
    const { http, content, etag = null, lastModified: lastmodified = null } = result;
    const body = new TextDecoder().decode(content);
    return { http, body, etag, lastmodified, fetched: nowS, checked: nowS, ...NO_PAUSE };
  }
  if (result.status === 'unchanged' && before?.body != null)
    return {
      ...before,
      http: 200,
      etag: result.etag ?? before.etag,
      lastmodified: result.lastModified ?? before.lastmodified,
      fetched: nowS,
      checked: nowS,
      ...NO_PAUSE,
    };
  const http = result.status === 'error' ? result.code : 0;
  if (isUnavailable(http))
    return { http, body: null, etag: null, lastmodified: null, fetched: 0, checked: nowS, ...NO_PAUSE };
  const { body = null, etag = null, lastmodified = null, fetched = 0, failures = 0 } = before ?? {};
  return { http, body, etag, lastmodified, fetched, checked: nowS, failures, again: 0 };
}

/** How old a row is before which nothing of it counts. */
export function forgottenBefore(nowS: number): number {
  return nowS - COPY_S - FRESH_S;
}

function isUnavailable(http: number): boolean {
  return isNoRobots(http) || UNAVAILABLE.includes(http);
}

/** A clock that was set back makes nothing fresh for longer. */
function ageOf(atS: number, nowS: number): number {
  return atS > nowS + HOUR_S ? Infinity : nowS - atS;
}
