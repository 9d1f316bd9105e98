/** A subscription at a hub (W3C WebSub), its states and its requests: docs/design/feeds.md. */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { DAY, HOUR, MINUTE, SECOND } from '../../config/amounts.js';
import type { RsDatabase } from '../../db/rs/database.js';
import type { PolledFeed, FeedStanding, HubState } from '../../db/rs/feeds.js';
import { fail, type FetchFailure } from '../../fetch/failure.js';
import { doubledMs } from '../../lib/backoff.js';
import { writeFileDurably } from '../../lib/durable.js';
import { readIfThere } from '../../lib/read-if-there.js';
import { transitions } from '../../lib/states.js';
import { step } from '../../lib/steps.js';
import { SiteFetcher, type SiteFetcherOptions } from '../proof/site-fetcher.js';
import { portOf } from '../site.js';
import { failureText, siteAt } from './site.js';
import { changeFeed, PROMPT_MS } from './standing.js';

const become = transitions<HubState>('subscription', {
  none: ['asked'],
  asked: ['active', 'lapsed', 'denied', 'none'],
  active: ['renewing', 'lapsed', 'denied', 'none'],
  renewing: ['active', 'lapsed', 'denied', 'none'],
  lapsed: ['asked', 'none'],
  denied: ['asked', 'none'],
});

const LEASE_ASKED_MS = 10 * DAY;
const [LEAST_LEASE_MS, MOST_LEASE_MS] = [10 * SECOND, 14 * DAY];
/** A hub verifies within this time, or is silent. */
const VERIFY_MS = 10 * MINUTE;
/** The callback of before is good for so long after the new one is. */
const OLD_CALLBACK_MS = HOUR;
const BACKOFF = { minMs: MINUTE, maxMs: DAY };
/** Between two hubs of one feed. */
const OTHER_HUB_MS = 10 * MINUTE;
const HUB_TIMEOUT_MS = 10 * SECOND;
const MAX_ANSWER_BYTES = 1024;
const PORTS = ['80', '443'];

export function turn(standing: FeedStanding, to: HubState, nowMs: number): void {
  standing.state = become(standing.state, to);
  standing.stateMs = nowMs;
}

/** A reading says which hub there is. @returns whether it is another one, so that callbacks are void */
export function hubFound(
  standing: FeedStanding,
  found: { hub: string; topic: string } | undefined,
  nowMs: number,
): boolean {
  if (standing.hub === found?.hub && standing.topic === found?.topic) return false;
  if (standing.state !== 'none') turn(standing, 'none', nowMs);
  Object.assign(standing, { hub: found?.hub, topic: found?.topic, leaseMs: undefined, hubTries: 0 });
  standing.hubMs =
    found === undefined ? undefined : Math.max(nowMs, (standing.askedMs ?? -Infinity) + OTHER_HUB_MS);
  delete standing.hubTrouble;
  return true;
}

/** The hub is asked again, later each time; a subscription that is renewed holds until its lease is over. */
export function hubFailed(standing: FeedStanding, why: string, nowMs: number): void {
  const waitMs = doubledMs(BACKOFF, ++standing.hubTries);
  standing.hubTrouble = why;
  const { state, leaseMs = 0 } = standing;
  if (state === 'renewing' && leaseMs > nowMs) standing.hubMs = Math.min(nowMs + waitMs, leaseMs);
  else {
    turn(standing, 'lapsed', nowMs);
    standing.hubMs = nowMs + waitMs;
  }
}

export function hubRefused(standing: FeedStanding, why: string, nowMs: number): void {
  turn(standing, 'denied', nowMs);
  standing.hubTrouble = why;
  standing.hubMs = nowMs + DAY;
}

/** @param leaseS as the hub says; undefined: it does not @returns when the lease is over */
export function hubVerified(standing: FeedStanding, leaseS: number | undefined, nowMs: number): number {
  const askedMs = leaseS === undefined ? LEASE_ASKED_MS : leaseS * 1000;
  const forMs = Math.min(MOST_LEASE_MS, Math.max(LEAST_LEASE_MS, askedMs));
  turn(standing, 'active', nowMs);
  standing.leaseMs = nowMs + forMs;
  standing.hubMs = nowMs + Math.round((forMs * 2) / 3);
  // The feed may have changed before the hub knew of us (w3c/websub 174).
  standing.checkMs = nowMs + PROMPT_MS;
  standing.hubTries = 0;
  delete standing.hubTrouble;
  return standing.leaseMs;
}

/** When the callbacks of a verified subscription are over: its own, and those of before. */
export function callbackEnds(leaseMs: number, nowMs: number): [own: number, others: number] {
  return [leaseMs + OLD_CALLBACK_MS, nowMs + OLD_CALLBACK_MS];
}

/** As rs.db knows a token. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** The key of which secrets are made: no database has them. */
export function hubKey(path: string): string {
  const there = readIfThere(path)?.trim() ?? '';
  if (there !== '') return there;
  const key = randomBytes(32).toString('hex');
  writeFileDurably(path, `${key}\n`, 0o600);
  return key;
}

/** 160 bits, that the hub signs with. */
export function secretOf(key: string, token: string): string {
  return createHmac('sha256', key).update(`websub ${token}`).digest('hex').slice(0, 40);
}

export interface HubOptions {
  db: RsDatabase;
  nowMs: () => number;
  key: string;
  /** Where callbacks are, with a slash at its end. */
  callbacks: string;
  site: Omit<SiteFetcherOptions, 'fetchTimeoutMs'>;
  /** Ports of sites, as texts. */
  ports: readonly string[];
}

export class HubClient {
  readonly #options: HubOptions;
  #isOver = false;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  /** Nothing is written any more. */
  stop(): void {
    this.#isOver = true;
  }

  /** Does what is due: the next request, or what its absence means. */
  async act({ id, standing }: PolledFeed): Promise<void> {
    const { nowMs } = this.#options;
    const { state, leaseMs = 0 } = standing;
    const isOver = state === 'asked' || ((state === 'active' || state === 'renewing') && leaseMs <= nowMs());
    if (!isOver) return this.#ask(id);
    const why = state === 'asked' ? 'the hub has not verified the subscription' : 'the lease is over';
    this.#change(id, feed => hubFailed(feed.standing, why, nowMs()));
  }

  async #ask(id: number): Promise<void> {
    const { db, nowMs, key, callbacks } = this.#options;
    const askedMs = nowMs();
    const token = randomBytes(20).toString('base64url');
    const asked = this.#change(id, ({ standing }) => {
      if (standing.state !== 'renewing')
        turn(standing, standing.state === 'active' ? 'renewing' : 'asked', askedMs);
      standing.askedMs = askedMs;
      const { leaseMs = Infinity, state } = standing;
      standing.hubMs = Math.min(askedMs + VERIFY_MS, state === 'renewing' ? leaseMs : Infinity);
      db.feeds.expect(tokenHash(token), id, askedMs + OLD_CALLBACK_MS, askedMs);
    });
    if (asked?.standing.hub === undefined) return;
    step('rs.hub.asked');
    const { hub, topic = asked.url } = asked.standing;
    const failure = await this.#post(
      hub,
      new URLSearchParams({
        'hub.mode': 'subscribe',
        'hub.topic': topic,
        'hub.callback': callbacks + token,
        'hub.secret': secretOf(key, token),
        'hub.lease_seconds': String(LEASE_ASKED_MS / 1000),
      }).toString(),
    );
    if (failure === undefined) return;
    this.#change(id, ({ standing }) => {
      const { state } = standing;
      // Another request has been made, or a verification was faster than its answer.
      if (standing.askedMs !== askedMs || (state !== 'asked' && state !== 'renewing')) return;
      const text = `the hub: ${failureText(failure)}`;
      if (isRefusal(failure)) hubRefused(standing, text, nowMs());
      else hubFailed(standing, text, nowMs());
    });
  }

  /** @returns undefined where it has taken the request */
  async #post(hub: string, form: string): Promise<FetchFailure | undefined> {
    const { site, ports } = this.#options;
    const body = { bytes: Buffer.from(form) };
    const headers = ['content-type', 'application/x-www-form-urlencoded'];
    for (let url = hub, hops = 0; ; hops++) {
      const { protocol, host } = new URL(url);
      if (![...PORTS, ...ports].includes(portOf(url)))
        return fail('bad-url', `port ${portOf(url)} is not permitted (rs.ports)`);
      const fetcher = new SiteFetcher(siteAt(url), { ...site, fetchTimeoutMs: HUB_TIMEOUT_MS });
      const { outcome } = await fetcher
        .ask({ url, roots: [], method: 'POST', body, headers, inline: MAX_ANSWER_BYTES })
        .finally(() => fetcher.close());
      if (outcome.status !== 'error') return undefined;
      const { failure } = outcome;
      const to =
        failure.kind === 'status' && [307, 308].includes(failure.status) ? failure.location : undefined;
      const next = to !== undefined && hops === 0 && URL.canParse(to) ? new URL(to) : undefined;
      if (next?.host !== host || (protocol === 'https:' && next.protocol !== 'https:')) return failure;
      url = next.href;
    }
  }

  #change(id: number, change: (feed: PolledFeed) => void): PolledFeed | undefined {
    return this.#isOver ? undefined : changeFeed(this.#options.db, id, change);
  }
}

/** The hub has understood the request and does not want it. */
function isRefusal(failure: FetchFailure): boolean {
  if (failure.kind !== 'status') return false;
  const { status } = failure;
  return status >= 400 && status <= 499 && status !== 408 && status !== 429;
}
