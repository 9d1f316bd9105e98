/** When something of a feed is due (docs/design/feeds.md): poll, prompt, hub, miss. */
import { DAY, HOUR, MINUTE } from '../../config/amounts.js';
import type { PolledFeed, FeedStanding } from '../../db/rs/feeds.js';
import type { RsDatabase } from '../../db/rs/database.js';
import { doubledMs } from '../../lib/backoff.js';

/** Poll of a feed whose hub is believed. */
const POLL_BESIDE_HUB_MS = 6 * HOUR;
/** Between two requests that something prompted. */
export const PROMPT_MS = MINUTE;
/** For which a hub may push what a poll has found, before it has missed it. */
export const PUSH_WAIT_MS = 10 * MINUTE;
const MOST_MISSES = 2;
const ENOUGH_PROOFS = 2;
const BACKOFF = { minMs: MINUTE, maxMs: DAY };
/** No feed sleeps longer: what is noted for later than that, a clock that was ahead has noted. */
export const LONGEST_SLEEP_MS = 2 * DAY;

export function newStanding(roots: readonly string[]): FeedStanding {
  const none = { polledMs: 0, failures: 0, items: 0, left: 0, stateMs: 0, hubTries: 0, misses: 0, proofs: 0 };
  return { roots, doors: [], state: 'none', ...none };
}

export function isSubscribed({ state }: FeedStanding): boolean {
  return state === 'active' || state === 'renewing';
}

/** True if its hub has missed too much to be believed. */
export function missesNews({ misses }: FeedStanding): boolean {
  return misses >= MOST_MISSES;
}

/** When it is polled next, whatever is pushed. */
export function pollMs({ everyMs, standing }: PolledFeed): number {
  const { polledMs, checkMs = Infinity } = standing;
  const isBelieved = isSubscribed(standing) && !missesNews(standing);
  const waitMs = isBelieved ? Math.max(everyMs, POLL_BESIDE_HUB_MS) : everyMs;
  return polledMs === 0 ? 0 : Math.min(polledMs + waitMs, checkMs);
}

/** True if nothing has been asked since its last prompt. */
export function isPrompted({ dueMs = 0, promptedMs = 0 }: FeedStanding): boolean {
  return dueMs > promptedMs;
}

/** When it is asked next. A prompt shortens a back-off, and nothing what the site wishes. */
export function requestMs(feed: PolledFeed): number {
  const { dueMs = Infinity, promptedMs = 0, patienceMs = 0, backoffMs = 0 } = feed.standing;
  const promptMs = Math.max(dueMs, promptedMs + PROMPT_MS, isPrompted(feed.standing) ? 0 : backoffMs);
  return Math.max(Math.min(Math.max(pollMs(feed), backoffMs), promptMs), patienceMs);
}

/** When something of it is due. */
export function wakeMs(feed: PolledFeed): number {
  const { hubMs = Infinity, patienceMs = 0, backoffMs = 0, missingMs = Infinity } = feed.standing;
  return Math.min(requestMs(feed), Math.max(hubMs, patienceMs, backoffMs), missingMs + PUSH_WAIT_MS);
}

/** Times that a clock that was ahead has noted count as now. */
export function settleClock(standing: FeedStanding, nowMs: number): void {
  for (const name of ['polledMs', 'promptedMs', 'pushedMs', 'dueMs', 'missingMs', 'askedMs'] as const)
    if ((standing[name] ?? 0) > nowMs) standing[name] = nowMs;
  for (const name of ['patienceMs', 'backoffMs'] as const)
    if ((standing[name] ?? 0) > nowMs + DAY) standing[name] = nowMs;
}

/** @param request `dueMs` as it began: a later one stays */
export function requestEnded(
  { standing }: PolledFeed,
  { dueMs, begunMs, isPoll }: { dueMs: number | undefined; begunMs: number; isPoll: boolean },
): void {
  if (dueMs !== undefined) standing.promptedMs = begunMs;
  if (standing.dueMs === dueMs) delete standing.dueMs;
  if (isPoll) standing.polledMs = begunMs;
  if ((standing.checkMs ?? Infinity) - PROMPT_MS <= begunMs) delete standing.checkMs;
  standing.failures = 0;
  delete standing.trouble;
  delete standing.patienceMs;
  delete standing.backoffMs;
}

/** A prompt stays due, and one that has shortened the back-off makes none longer: no feed is left unasked by
 * pings. @param waitMs as the site wishes */
export function requestFailed(
  standing: FeedStanding,
  why: string,
  begunMs: number,
  nowMs: number,
  waitMs = 0,
): void {
  standing.trouble = why;
  if (waitMs > 0) standing.patienceMs = nowMs + waitMs;
  if ((standing.backoffMs ?? 0) > begunMs) return;
  standing.failures++;
  standing.backoffMs = nowMs + doubledMs(BACKOFF, standing.failures);
}

/** A poll has found something new: the hub may still push it. */
export function newsPolled(standing: FeedStanding, nowMs: number): void {
  const { pushedMs = -Infinity, stateMs } = standing;
  const isPushed = pushedMs >= nowMs - PUSH_WAIT_MS;
  if (isSubscribed(standing) && !isPushed && nowMs - stateMs > PUSH_WAIT_MS) standing.missingMs ??= nowMs;
}

/** News that was not pushed in time is a miss. */
export function judgeMiss(standing: FeedStanding, nowMs: number): void {
  if (standing.missingMs === undefined || nowMs < standing.missingMs + PUSH_WAIT_MS) return;
  delete standing.missingMs;
  standing.misses++;
  standing.proofs = 0;
}

/** The hub has pushed: it is believed at once if it has missed one thing, after a second push if more. */
export function hubPushed(standing: FeedStanding, nowMs: number): void {
  judgeMiss(standing, nowMs);
  delete standing.missingMs;
  standing.pushedMs = nowMs;
  standing.proofs++;
  if (!missesNews(standing) || standing.proofs >= ENOUGH_PROOFS) standing.misses = 0;
}

/** Changes how a feed stands, in a transaction. @returns undefined: there is no such feed any more */
export function changeFeed(
  db: Pick<RsDatabase, 'feeds' | 'write'>,
  id: number,
  change: (feed: PolledFeed) => void,
): PolledFeed | undefined {
  return db.write(() => {
    const feed = db.feeds.get(id);
    if (feed === undefined) return undefined;
    change(feed);
    db.feeds.put(feed, wakeMs(feed));
    return feed;
  });
}
