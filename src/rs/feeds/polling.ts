/** Asks for feeds that are due, and pushes their news (docs/design/feeds.md). */
import { createHash } from 'node:crypto';
import { DAY, HOUR, MB, MINUTE, SECOND } from '../../config/amounts.js';
import type { PolledFeed, FeedItem } from '../../db/rs/feeds.js';
import { MAX_CONTENT_BYTES, SiteFetcher, type SiteFetcherOptions } from '../proof/site-fetcher.js';
import { isPassing, LccError } from '../../lib/errors.js';
import { step } from '../../lib/steps.js';
import { canonicalUrl } from '../../wire/canonical-url.js';
import type { PushTarget } from '../push/targets.js';
import { MOST_ITEMS, type ReadFeed } from './read-document.js';
import { hubFound, type HubClient } from './hub.js';
import { linkIn } from './link-header.js';
import type { FeedThread } from './feed-thread.js';
import { portOf } from '../site.js';
import { failureText, siteAt } from './site.js';
import * as standing from './standing.js';
import { shownBy, type RsGround } from '../ground.js';

const MOST_AT_ONCE = 4;
const FETCH_TIMEOUT_MS = 30 * SECOND;
/** Pages of a feed that is read for the first time: nobody says that something happened to its old ones. */
const FIRST_LOOKS = 100;
const MOST_BYTES = { most: MAX_CONTENT_BYTES, text: `${MAX_CONTENT_BYTES / MB} MB` };
/** No timer waits longer: a wall clock may be set. */
const LONGEST_WAIT_MS = MINUTE;
/** A feed is looked at again: where the Queue Manager or rs.db fails; where it may not be asked. */
const [AWAY_MS, UNFIT_MS] = [5 * SECOND, HOUR];
/** For which a provider is not there before its feeds go. */
const GONE_MS = DAY;

type Validators = Pick<PolledFeed['standing'], 'etag' | 'lastModified' | 'digest'>;
/** The answer to a request; without `read` the feed says what it said. */
type Answer = Validators & { read?: ReadFeed; link?: string | undefined; url: string };

export interface FeedPollingOptions extends Pick<RsGround, 'db' | 'clock' | 'log' | 'ask' | 'fail'> {
  reader: FeedThread;
  hubs: HubClient;
  site: Omit<SiteFetcherOptions, 'fetchTimeoutMs'>;
  /** Ports of sites, as texts. */
  ports: readonly string[];
  /** Where a provider stands; null: no enabled one has the number; undefined: the Queue Manager is away. */
  targetOf: (pid: number) => Promise<PushTarget | null | undefined>;
  /** There is something for the UNS. */
  pushed: () => void;
}

export class FeedPolling {
  readonly #options: FeedPollingOptions;
  /** Feeds that are looked at now, with the prompt that each had as it began. */
  readonly #busy = new Map<number, { host: string; seenDueMs: number | undefined; done: Promise<void> }>();
  #cancel: (() => void) | undefined;
  #isOver = false;

  constructor(options: FeedPollingOptions) {
    this.#options = options;
  }

  /** Something may be due. */
  stir(): void {
    if (this.#isOver) return;
    this.#wake(LONGEST_WAIT_MS);
    try {
      this.#look();
    } catch (error) {
      this.#failed(error);
    }
  }

  #look(): void {
    const { db, clock } = this.#options;
    const nowMs = clock.nowMs();
    const limit = MOST_AT_ONCE + this.#busy.size;
    const hosts = new Set([...this.#busy.values()].map(({ host }) => host));
    for (const feed of db.feeds.due({ nowMs, aheadMs: nowMs + standing.LONGEST_SLEEP_MS, limit })) {
      if (this.#busy.size >= MOST_AT_ONCE) break;
      if (this.#busy.has(feed.id) || hosts.has(feed.host)) continue;
      hosts.add(feed.host);
      this.#begin(feed);
    }
    const nextMs = (db.feeds.nextMs(nowMs) ?? Infinity) - nowMs;
    if (nextMs < LONGEST_WAIT_MS) this.#wake(nextMs);
  }

  #wake(inMs: number): void {
    this.#cancel?.();
    if (!this.#isOver) this.#cancel = this.#options.clock.after(inMs, () => this.stir());
  }

  #failed(error: unknown): void {
    if (!isPassing(error)) this.#options.fail(error);
  }

  /** Inside a transaction: a ping or a push makes a feed due. @returns false: it was already */
  prompt(feed: PolledFeed): boolean {
    const { db, clock } = this.#options;
    const { dueMs = 0, promptedMs = 0 } = feed.standing;
    // The request that is under way may have read the feed before this.
    if (standing.isPrompted(feed.standing) && dueMs !== this.#busy.get(feed.id)?.seenDueMs) return false;
    feed.standing.dueMs = Math.max(clock.nowMs(), dueMs + 1, promptedMs + 1);
    db.feeds.put(feed, standing.wakeMs(feed));
    return true;
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#busy.size > 0) await Promise.all([...this.#busy.values()].map(({ done }) => done));
  }

  /** Nothing is written any more: what is under way is done again by the next start. */
  stop(): void {
    this.#isOver = true;
    this.#cancel?.();
    this.#options.hubs.stop();
    this.#options.reader.stop();
  }

  #begin(feed: PolledFeed): void {
    const over = () => this.#busy.delete(feed.id);
    const done = this.#tend(feed).then(
      () => {
        over();
        this.stir();
      },
      // At once, the same might fail without end.
      (error: unknown) => {
        over();
        if (this.#isOver) return;
        this.#failed(error);
        this.#wake(AWAY_MS);
      },
    );
    this.#busy.set(feed.id, { host: feed.host, seenDueMs: feed.standing.dueMs, done });
  }

  async #tend(feed: PolledFeed): Promise<void> {
    const { clock, hubs, targetOf } = this.#options;
    const target = await targetOf(feed.pid);
    if (this.#isOver) return;
    if (target === undefined) throw new LccError('try.later', 'the Queue Manager is away');
    const why = this.#unfit(feed, target);
    const now = standing.changeFeed(this.#options.db, feed.id, each => {
      const nowMs = clock.nowMs();
      standing.settleClock(each.standing, nowMs);
      standing.judgeMiss(each.standing, nowMs);
      if (target)
        Object.assign(each.standing, { roots: target.roots, doors: [...target.doors], goneMs: undefined });
      if (why === undefined) return;
      each.standing.trouble = why;
      each.standing.backoffMs = nowMs + UNFIT_MS;
      if (each.standing.dueMs !== undefined) each.standing.promptedMs = nowMs;
    });
    if (now !== undefined && target === null) await this.#providerAway(now);
    if (now === undefined || target === null || why !== undefined) return;
    const { hubMs = Infinity } = now.standing;
    if (hubMs <= clock.nowMs()) await hubs.act(now);
    if (this.#isOver) return;
    const asked = this.#options.db.feeds.get(feed.id);
    if (asked === undefined || standing.requestMs(asked) > clock.nowMs()) return;
    const busy = this.#busy.get(feed.id);
    if (busy !== undefined) busy.seenDueMs = asked.standing.dueMs;
    await this.#request(asked, target);
  }

  /** The provider is disabled, which passes, or is there no more: then the feed goes, after a day, for an
   * older database of the Queue Manager may have been put back meanwhile. */
  async #providerAway({ id, pid, standing: { goneMs } }: PolledFeed): Promise<void> {
    const { db, clock, log, ask } = this.#options;
    const provider = await shownBy(ask, pid);
    if (this.#isOver || provider === undefined) return;
    const gone = provider === null || provider.left === 1;
    const nowMs = clock.nowMs();
    if (!gone || nowMs - (goneMs ?? nowMs) < GONE_MS) {
      const sinceMs = gone ? Math.min(goneMs ?? nowMs, nowMs) : undefined;
      standing.changeFeed(db, id, each => void (each.standing.goneMs = sinceMs));
      return;
    }
    db.write(() => db.feeds.remove(id));
    log.info('feed removed: its provider is there no more', { feed: id, pid });
  }

  /** Why it may not be asked. */
  #unfit({ pid, url }: PolledFeed, target: PushTarget | null): string | undefined {
    if (target === null) return `there is no provider ${pid} that may deliver`;
    if (!target.doors.has('feed')) return 'the operator takes no pushes by feeds of this provider';
    if (!target.isInside(url)) return `it lies outside of the directories of provider ${pid}`;
    return this.#options.ports.includes(portOf(url))
      ? undefined
      : `port ${portOf(url)} is not permitted (rs.ports)`;
  }

  async #request(feed: PolledFeed, target: PushTarget): Promise<void> {
    const { clock, log } = this.#options;
    const { dueMs } = feed.standing;
    const begunMs = clock.nowMs();
    const isPoll = standing.pollMs(feed) <= begunMs;
    try {
      const answer = await this.#ask(feed, target);
      if (this.#isOver) return;
      const count = this.#commit(feed.id, target, answer, { dueMs, begunMs, isPoll });
      step('rs.feed.read');
      if (count > 0) {
        log.info('feed has news', { feed: feed.id, pid: feed.pid, urls: count });
        this.#options.pushed();
      }
    } catch (error) {
      if (this.#isOver) return;
      if (!(error instanceof FeedFailure)) throw error;
      if (feed.standing.trouble !== error.message)
        log.warn('feed not read', { feed: feed.id, pid: feed.pid, url: feed.url, error: error.message });
      standing.changeFeed(this.#options.db, feed.id, each => {
        if (dueMs !== undefined) each.standing.promptedMs = begunMs;
        standing.requestFailed(each.standing, error.message, begunMs, clock.nowMs(), error.waitMs);
      });
    }
  }

  /** @throws FeedFailure */
  async #ask(
    { url, standing: { etag, lastModified, digest } }: PolledFeed,
    { roots }: PushTarget,
  ): Promise<Answer> {
    const { site, ports, reader } = this.#options;
    const fetcher = new SiteFetcher(siteAt(url), { ...site, fetchTimeoutMs: FETCH_TIMEOUT_MS });
    const job = {
      url,
      roots: roots.filter(root => ports.includes(portOf(root))),
      maxBytes: MAX_CONTENT_BYTES,
      ...(etag !== undefined && { etag }),
      ...(lastModified !== undefined && { lastModified }),
    };
    const { outcome, bytes } = await fetcher.ask(job).finally(() => fetcher.close());
    if (outcome.status === 'error') {
      const { failure } = outcome;
      throw new FeedFailure(failureText(failure), 'retryAfterMs' in failure ? failure.retryAfterMs : 0);
    }
    if (outcome.status === 'unchanged') return { url, etag, lastModified, digest };
    const answer: Answer = {
      url: outcome.finalUrl ?? url,
      etag: outcome.etag,
      lastModified: outcome.lastModified,
      digest: createHash('sha256').update(bytes).digest('base64url'),
      link: outcome.link,
    };
    if (answer.digest === digest) return answer;
    try {
      return { ...answer, read: await reader.read({ bytes, url: answer.url, most: MOST_BYTES }) };
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      throw new FeedFailure(error.message);
    }
  }

  /** @returns how many urls are pushed */
  #commit(
    id: number,
    { isInside }: PushTarget,
    { read, link, url, ...validators }: Answer,
    request: { dueMs: number | undefined; begunMs: number; isPoll: boolean },
  ): number {
    const { db, clock } = this.#options;
    const nowMs = clock.nowMs();
    let count = 0;
    standing.changeFeed(db, id, feed => {
      standing.requestEnded(feed, request);
      Object.assign(feed.standing, validators, { readMs: nowMs });
      if (read === undefined) return;
      const { news, outside, looks } = this.#news(feed, read, isInside);
      db.push.offer(feed.pid, 'feed', news.slice(0, looks), nowMs);
      db.push.offer(feed.pid, 'feed', news.slice(looks), nowMs, 'absent');
      count = news.length;
      feed.standing.items = read.items.length + read.left;
      feed.standing.left = read.left + outside;
      const [hub, self] = [linkIn(link, 'hub', url) ?? read.hub, linkIn(link, 'self', url) ?? read.self];
      if (hubFound(feed.standing, hubOf(feed.url, hub, self, url, isInside), nowMs))
        db.feeds.forgetCallbacks(id);
      if (request.isPoll && count > 0) standing.newsPolled(feed.standing, nowMs);
    });
    return count;
  }

  /** Pages of items that are new, say something else, or are gone; their marks are noted. Of a first reading
   * the first ones are looked at, the others only where nothing is held of them. */
  #news(feed: PolledFeed, read: ReadFeed, isInside: (url: string) => boolean) {
    const { feeds } = this.#options.db;
    const marks = new Map(feeds.marksOf(feed.id).map(({ key, mark }) => [key, mark]));
    const isNew = ({ key, mark }: FeedItem) => marks.get(key) !== mark;
    const [items, gone] = [read.items.filter(isNew), read.gone.filter(isNew)];
    const inside = items.filter(({ curl }) => isInside(curl));
    const known = gone.flatMap(({ key, curl }) => [curl, ...feeds.curlsOf(feed.id, key.slice(0, -1))]);
    const news = [...new Set([...inside.map(({ curl }) => curl), ...known.filter(curl => isInside(curl))])];
    const keys = [...read.items, ...read.gone].map(({ key }) => key);
    feeds.mark(feed.id, [...inside, ...gone], keys, MOST_ITEMS);
    const looks = marks.size === 0 ? FIRST_LOOKS : news.length;
    return { news, outside: items.length - inside.length, looks };
  }
}

/** A feed could not be read. */
class FeedFailure extends Error {
  /** As its site wishes. */
  readonly waitMs: number | undefined;

  constructor(message: string, waitMs?: number) {
    super(message);
    this.waitMs = waitMs;
  }
}

/** The hub of a feed and the topic that it is asked for: the address of the feed itself, where that is the
 * provider's. @param base by which both are resolved */
function hubOf(
  feed: string,
  hub: string | undefined,
  self: string | undefined,
  base: string,
  isInside: (url: string) => boolean,
): { hub: string; topic: string } | undefined {
  const at = hub === undefined ? undefined : canonicalUrl(hub, base)?.curl;
  if (at === undefined) return undefined;
  const own = self !== undefined && URL.canParse(self, base) ? new URL(self, base).href : feed;
  return { hub: at, topic: isInside(own) ? own : feed };
}
