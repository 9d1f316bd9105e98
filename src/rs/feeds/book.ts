/** Which feeds a provider has: they are added and removed here, by itself or by the operator. */
import { DAY, MINUTE } from '../../config/amounts.js';
import type { RsDatabase } from '../../db/rs/database.js';
import type { PolledFeed } from '../../db/rs/feeds.js';
import { canonicalUrl } from '../../wire/canonical-url.js';
import { strictRootCheck } from '../../wire/roots.js';
import { Limits } from '../limits.js';
import type { RsOptions } from '../options.js';
import { RsRequestRefused } from '../refusal.js';
import { portOf } from '../site.js';
import { newStanding } from './standing.js';

const MOST_FEEDS = 20;
export const USUAL_EVERY_MS = 30 * MINUTE;
const [LEAST_EVERY_MS, MOST_EVERY_MS] = [MINUTE, DAY];
const MAX_URL_LENGTH = 2000;

export interface FeedBookOptions {
  db: RsDatabase;
  nowMs: () => number;
  options: Pick<RsOptions, 'uses' | 'site'>;
  /** A feed was added. */
  changed?: () => void;
}

type By = 'provider' | 'operator';

export class FeedBook {
  readonly #options: FeedBookOptions;

  constructor(options: FeedBookOptions) {
    this.#options = options;
  }

  of(pid: number): PolledFeed[] {
    return this.#options.db.feeds.of(pid);
  }

  /** @param roots of the provider @param everyMs between two polls @throws RsRequestRefused 400, 409, 429 */
  add(pid: number, written: string, everyMs: number, roots: readonly string[], by: By): void {
    const { db, nowMs, options } = this.#options;
    const url = canonicalUrl(written.trim())?.curl;
    if (url === undefined || url.length > MAX_URL_LENGTH)
      throw wrong('url', 'this is no http or https address', 'give the address of the feed');
    if (!strictRootCheck(roots)(url))
      throw wrong('url', 'the feed lies outside of the directories', 'give one that lies below them');
    if (!options.site.ports.includes(portOf(url)))
      throw wrong(
        'url',
        `port ${portOf(url)} is not permitted (rs.ports)`,
        `use one of ${options.site.ports.join(', ')}`,
      );
    if (!(everyMs >= LEAST_EVERY_MS && everyMs <= MOST_EVERY_MS))
      throw wrong('every', 'this is no time between 1 min and 1 d', 'give a time such as 30min');
    const atMs = nowMs();
    db.write(() => {
      const feeds = db.feeds.of(pid);
      if (feeds.some(feed => feed.url === url))
        throw new RsRequestRefused(409, 'known', 'this feed is listed already', 'there is nothing to do');
      if (feeds.length >= MOST_FEEDS)
        throw new RsRequestRefused(409, 'too-many', `there are ${MOST_FEEDS} feeds`, 'remove one first');
      this.#note('feed added', pid, by, url, atMs);
      const standing = newStanding(roots);
      db.feeds.add({ pid, url, host: new URL(url).host, everyMs, standing }, atMs);
    });
    this.#options.changed?.();
  }

  /** Pages that it has pushed stay. @param url as `of` has it @throws RsRequestRefused 404, 429 */
  remove(pid: number, url: string, by: By): void {
    const { db, nowMs } = this.#options;
    db.write(() => {
      const feed = db.feeds.of(pid).find(each => each.url === (canonicalUrl(url)?.curl ?? url));
      if (feed === undefined)
        throw new RsRequestRefused(404, 'unknown', 'this feed is not listed', 'look at the list of them');
      this.#note('feed removed', pid, by, feed.url, nowMs());
      db.feeds.remove(feed.id);
    });
  }

  #note(event: string, pid: number, by: By, detail: string, atMs: number): void {
    const { db, nowMs, options } = this.#options;
    if (by === 'provider') new Limits(db, options.uses, nowMs).use('change', pid);
    db.audit.add({ event, registration: db.providers.get(pid)?.registration ?? null, pid, by, detail }, atMs);
  }
}

/** A feed for programs; times as ISO 8601. */
export function shownFeed({ url, everyMs, standing }: PolledFeed) {
  const { readMs, items, left, trouble, hub, state, leaseMs, hubTrouble } = standing;
  const at = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    url,
    every_s: everyMs / 1000,
    read: at(readMs),
    items,
    left_out: left,
    trouble: trouble ?? null,
    hub: hub ?? null,
    subscription: state,
    lease: state === 'none' ? null : at(leaseMs),
    hub_trouble: hubTrouble ?? null,
  };
}

function wrong(code: string, what: string, advice: string): RsRequestRefused {
  return new RsRequestRefused(400, code, what, advice);
}
