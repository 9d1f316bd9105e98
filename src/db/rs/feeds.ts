/** Feeds of providers and how each stands, the marks of their items, and the callbacks that hubs know. */
import { SqlStore } from '../sqlite/sql-store.js';

export const FEED_SCHEMA = `
CREATE TABLE feed(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  pid INTEGER NOT NULL,
  url TEXT NOT NULL,
  host TEXT NOT NULL,                           -- of the url, with a port that is not its scheme's
  every_ms INTEGER NOT NULL,
  made_ms INTEGER NOT NULL,
  wake_ms INTEGER NOT NULL,                     -- when something of it is due
  standing TEXT NOT NULL,                       -- JSON: FeedStanding of db/rs/feeds.ts
  UNIQUE (pid, url)
) STRICT;
CREATE INDEX feed_wake ON feed(wake_ms);
CREATE INDEX feed_url ON feed(url);
CREATE INDEX feed_host ON feed(host);
CREATE INDEX feed_failing ON feed(id) WHERE json_extract(standing, '$.trouble') IS NOT NULL;

-- Items that a feed has had: what each said last.
CREATE TABLE feed_item(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  feed INTEGER NOT NULL,
  key TEXT NOT NULL,                            -- of its id and its link
  curl TEXT NOT NULL,
  mark TEXT NOT NULL,
  UNIQUE (feed, key)
) STRICT;

CREATE TABLE feed_callback(
  token TEXT PRIMARY KEY,                       -- sha256, hex: who has the original may speak as the hub
  feed INTEGER NOT NULL,
  pending INTEGER NOT NULL,                     -- 1: it waits for its verification
  ends_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_callback_feed ON feed_callback(feed);
`;

export type HubState = 'none' | 'asked' | 'active' | 'renewing' | 'lapsed' | 'denied';

/** How a feed stands; times in milliseconds since 1970, left out where there was none. */
export interface FeedStanding {
  /** Roots of its provider, and doors that are open to it, as the Queue Manager said last. */
  roots: readonly string[];
  doors: readonly string[];
  /** The last good poll; 0: there was none. */
  polledMs: number;
  /** The last good reading, polled or prompted. */
  readMs?: number | undefined;
  /** A hub has verified a subscription: the feed is polled once then. */
  checkMs?: number | undefined;
  /** Something prompted a request; when the last request for that began. */
  dueMs?: number | undefined;
  promptedMs?: number | undefined;
  /** Nothing is asked before: as the site wishes; after failures, or where it may not be asked, which a
   * prompt shortens. */
  patienceMs?: number | undefined;
  backoffMs?: number | undefined;
  /** Since when its provider is not there. */
  goneMs?: number | undefined;
  /** In a row, and the last one in words. */
  failures: number;
  trouble?: string | undefined;
  /** Validators of the last answer, and the SHA-256 of its content. */
  etag?: string | undefined;
  lastModified?: string | undefined;
  digest?: string | undefined;
  /** Items of the last reading, and how many were left out. */
  items: number;
  left: number;
  hub?: string | undefined;
  topic?: string | undefined;
  state: HubState;
  stateMs: number;
  /** When something of the subscription is due, and when its lease is over. */
  hubMs?: number | undefined;
  leaseMs?: number | undefined;
  askedMs?: number | undefined;
  hubTries: number;
  hubTrouble?: string | undefined;
  /** The last push; news that a poll has found and the hub may still push. */
  pushedMs?: number | undefined;
  missingMs?: number | undefined;
  /** Misses in a row, and pushes since there were too many. */
  misses: number;
  proofs: number;
}

export interface PolledFeed {
  id: number;
  pid: number;
  url: string;
  host: string;
  everyMs: number;
  standing: FeedStanding;
}

export interface FeedItem {
  key: string;
  curl: string;
  mark: string;
}

type Row = Omit<PolledFeed, 'standing'> & { standing: string };

const SELECT = 'SELECT id, pid, url, host, every_ms AS everyMs, standing FROM feed';
/** Feeds of a host that a ping may name. */
const MOST_OF_HOST = 1000;

export class FeedStore extends SqlStore {
  readonly #add = this.sql.insert<[row: Omit<Row, 'id'> & { madeMs: number }]>(
    `INSERT INTO feed(pid, url, host, every_ms, made_ms, wake_ms, standing)
     VALUES ($pid, $url, $host, $everyMs, $madeMs, 0, $standing)`,
  );
  readonly #put = this.sql.run<[wakeMs: number, standing: string, id: number]>(
    'UPDATE feed SET wake_ms = ?, standing = ? WHERE id = ?',
  );
  readonly #remove = this.sql.changed<[id: number]>('DELETE FROM feed WHERE id = ?');
  readonly #removeItems = this.sql.run<[feed: number]>('DELETE FROM feed_item WHERE feed = ?');
  readonly #mark = this.sql.run<[values: FeedItem & { feed: number }]>(
    `INSERT INTO feed_item(feed, key, curl, mark) VALUES ($feed, $key, $curl, $mark)
     ON CONFLICT (feed, key) DO UPDATE SET curl = $curl, mark = $mark`,
  );
  readonly #count = this.sql.number<[feed: number]>('SELECT count(*) FROM feed_item WHERE feed = ?');
  readonly #prune = this.sql.run<[values: { feed: number; keys: string; limit: number }]>(
    `DELETE FROM feed_item WHERE id IN (SELECT id FROM feed_item WHERE feed = $feed
       AND key NOT IN (SELECT value FROM json_each($keys)) ORDER BY id LIMIT $limit)`,
  );
  readonly #curlsOf = this.sql.values<[feed: number, from: string, to: string], string>(
    'SELECT curl FROM feed_item WHERE feed = ? AND key > ? AND key < ?',
  );
  readonly #verified = this.sql.run<[endsMs: number, token: string]>(
    'UPDATE feed_callback SET pending = 0, ends_ms = ? WHERE token = ?',
  );
  readonly #outdated = this.sql.run<[endsMs: number, feed: number, token: string]>(
    'UPDATE feed_callback SET ends_ms = min(ends_ms, ?) WHERE feed = ? AND token <> ?',
  );
  readonly #over = this.sql.run<[nowMs: number]>('DELETE FROM feed_callback WHERE ends_ms <= ?');
  readonly #expect = this.sql.run<[token: string, feed: number, endsMs: number]>(
    'INSERT INTO feed_callback VALUES (?, ?, 1, ?)',
  );

  // Inside a transaction

  /** @returns its id */
  add(feed: Omit<PolledFeed, 'id'>, madeMs: number): number {
    return this.#add({ ...feed, madeMs, standing: JSON.stringify(feed.standing) });
  }

  /** @param wakeMs when something of it is due */
  put({ id, standing }: PolledFeed, wakeMs: number): void {
    this.#put(wakeMs, JSON.stringify(standing), id);
  }

  /** With its marks and callbacks. @returns whether it was there */
  remove(id: number): boolean {
    this.#removeItems(id);
    this.forgetCallbacks(id);
    return this.#remove(id);
  }

  /** Those of a provider. */
  removeOf(pid: number): void {
    for (const { id } of this.of(pid)) this.remove(id);
  }

  /** Notes what items say now; of more than `most` those go that were not in the feed last, the oldest first.
   * @param keys of all items of the feed */
  mark(feed: number, items: readonly FeedItem[], keys: readonly string[], most: number): void {
    for (const item of items) this.#mark({ ...item, feed });
    const limit = this.#count(feed) - most;
    if (limit > 0) this.#prune({ feed, keys: JSON.stringify(keys), limit });
  }

  /** A callback that a hub is to verify. @param token its hash */
  expect(token: string, feed: number, endsMs: number, nowMs: number): void {
    this.#over(nowMs);
    this.#expect(token, feed, endsMs);
  }

  /** The hub has verified it; the others of the feed are good until `othersEndMs` at most. */
  verified(token: string, feed: number, endsMs: number, othersEndMs: number): void {
    this.#verified(endsMs, token);
    this.#outdated(othersEndMs, feed, token);
  }

  readonly forgetCallbacks = this.sql.run<[feed: number]>('DELETE FROM feed_callback WHERE feed = ?');

  // Reading

  readonly get = this.sql.row<[id: number], Row, PolledFeed>(`${SELECT} WHERE id = ?`, readRow);

  readonly of = this.sql.rows<[pid: number], Row, PolledFeed>(`${SELECT} WHERE pid = ? ORDER BY id`, readRow);

  readonly all = this.sql.rows<[], Row, PolledFeed>(`${SELECT} ORDER BY pid, id`, readRow);

  /** Feeds with this url, of all providers. */
  readonly at = this.sql.rows<[url: string], Row, PolledFeed>(`${SELECT} WHERE url = ?`, readRow);

  readonly ofHost = this.sql.rows<[host: string], Row, PolledFeed>(
    `${SELECT} WHERE host = ? ORDER BY id LIMIT ${MOST_OF_HOST}`,
    readRow,
  );

  /** Those of which something is due, the longest due first; what a clock that was ahead noted counts so. */
  readonly due = this.sql.rows<[values: { nowMs: number; aheadMs: number; limit: number }], Row, PolledFeed>(
    `${SELECT} WHERE wake_ms <= $nowMs OR wake_ms > $aheadMs ORDER BY wake_ms LIMIT $limit`,
    readRow,
  );

  /** When something is due next, after now. */
  readonly nextMs = this.sql.value<[nowMs: number], number>(
    'SELECT min(wake_ms) FROM feed WHERE wake_ms > ?',
  );

  readonly marksOf = this.sql.rows<[feed: number], Pick<FeedItem, 'key' | 'mark'>>(
    'SELECT key, mark FROM feed_item WHERE feed = ?',
  );

  /** Urls of the items whose keys begin so. */
  curlsOf(feed: number, begin: string): string[] {
    return this.#curlsOf(feed, begin, `${begin}~`);
  }

  /** @param token its hash */
  readonly callback = this.sql.row<[token: string, nowMs: number], { feed: number; pending: 0 | 1 }>(
    'SELECT feed, pending FROM feed_callback WHERE token = ? AND ends_ms > ?',
  );

  /** How many there are in all, and that cannot be read, by an index: no standing is read. */
  readonly counts = this.sql.row<[], { feeds: number; failing: number }>(
    `SELECT (SELECT count(*) FROM feed) AS feeds,
       (SELECT count(*) FROM feed WHERE json_extract(standing, '$.trouble') IS NOT NULL) AS failing`,
  );
}

function readRow({ standing, ...row }: Row): PolledFeed {
  return { ...row, standing: JSON.parse(standing) as FeedStanding };
}
