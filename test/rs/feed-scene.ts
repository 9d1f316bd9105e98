/** Feeds of lccd-rs in this process: rs.db, a site with a feed, a hub, and the door that hubs and weblogs call. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Hono } from 'hono';
import { loadConfig } from '../../src/config/load.js';
import { RsDatabase } from '../../src/db/rs/database.js';
import type { PolledFeed } from '../../src/db/rs/feeds.js';
import type { Resolve } from '../../src/fetch/connect.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import { silentLog, type Log } from '../../src/lib/log.js';
import type { NodeBindings } from '../../src/rs/api.js';
import { FeedBook } from '../../src/rs/feeds/book.js';
import { feedDoor, type FeedDoorCounts } from '../../src/rs/feeds/door.js';
import { HubClient, hubKey } from '../../src/rs/feeds/hub.js';
import { FeedPolling } from '../../src/rs/feeds/polling.js';
import { FeedThread } from '../../src/rs/feeds/feed-thread.js';
import { listenerOf } from '../../src/rs/listener.js';
import { rsOptions } from '../../src/rs/options.js';
import { PushRefusals } from '../../src/rs/push/refusals.js';
import type { PushTarget } from '../../src/rs/push/targets.js';
import { PUSH_DOORS } from '../../src/wire/push.js';
import { strictRootCheck } from '../../src/wire/roots.js';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { TestHub } from '../support/hub.js';
import { TestSite } from '../support/site.js';
import { MovedClock } from './support.js';

export const PID = 7;
export const MIN = 60_000;
export const HOUR = 60 * MIN;

/** A feed of these items: link → what it says. */
export function rss(items: Record<string, string>, head = ''): string {
  const each = Object.entries(items).map(
    ([link, says]) =>
      `<item><title>t</title><link>${link}</link><guid>${link}</guid><description>${says}</description></item>`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:at="http://purl.org/atompub/tombstones/1.0"><channel>
<title>t</title><link>http://e/</link>${head}${each.join('\n')}</channel></rss>`;
}

export class FeedScene {
  readonly dir = mkdtempSync(join(tmpdir(), 'lcc-feeds-'));
  readonly clock = new MovedClock();
  readonly failures: unknown[] = [];
  /** What was logged. */
  readonly lines: string[] = [];
  /** Requests that the site has had: method and path, with what they were conditional on. */
  readonly requests: string[] = [];
  /** How often there was something for the UNS. */
  stirred = 0;
  site!: TestSite;
  hub!: TestHub;
  db!: RsDatabase;
  book!: FeedBook;
  polling!: FeedPolling;
  counts!: FeedDoorCounts;
  /** What the Queue Manager says of the provider; undefined: it is away. */
  target: PushTarget | null | undefined;
  isDisabled = false;
  /** Answered for the feed; undefined: 404. */
  feed: string | undefined;
  feedHeaders: Record<string, string> = {};
  feedStatus = 200;
  /** What it leads to. */
  base = '';
  resolve: Resolve | undefined;
  /** Networks that may be asked. */
  allowed: readonly string[] = ['127.0.0.0/8'];
  ports: readonly string[] = [];
  readonly #door = createServer();

  static async start(): Promise<FeedScene> {
    const scene = new FeedScene();
    scene.hub = await TestHub.listen();
    scene.site = await TestSite.listen((request, response) => scene.#answer(request, response));
    scene.#door.listen(0, '127.0.0.1');
    await once(scene.#door, 'listening');
    scene.base = `http://127.0.0.1:${(scene.#door.address() as AddressInfo).port}/base/`;
    scene.ports = [new URL(scene.site.url).port, String(scene.hub.port)];
    scene.target = scene.targetOf([`${scene.site.url}/`]);
    scene.open();
    return scene;
  }

  targetOf(roots: readonly string[]): PushTarget {
    return { pid: PID, roots, held: 0, doors: new Set(PUSH_DOORS), isInside: strictRootCheck(roots) };
  }

  get feedUrl(): string {
    return this.site.urlOf('/feed');
  }

  urlOf(path: string): string {
    return this.site.urlOf(path);
  }

  /** What items say, by path. */
  items(...says: [string, string][]): Record<string, string> {
    return Object.fromEntries(says.map(([path, text]) => [this.urlOf(path), text]));
  }

  hubLink(more = ''): string {
    return `<atom:link rel="hub" href="${this.hub.url}"/>${more}`;
  }

  /** Makes a feed whose hub has verified the subscription. */
  async subscribed(everyMs = 30 * MIN): Promise<void> {
    this.feed = rss(this.items(['/a', 'one']), this.hubLink());
    this.add(everyMs);
    await this.pass();
    assert.equal(this.standing().state, 'active');
    // The request that follows a verification.
    await this.pass(MIN);
    this.asked();
    this.taken();
  }

  /** As a start of lccd-rs does. */
  open(): void {
    const config = loadConfig({
      env: { LCC_HOME: this.dir },
      overrides: {
        'rs.url': this.base,
        'rs.ports': [...this.ports],
        'bot.allow_addresses': [...this.allowed],
      },
    });
    const options = rsOptions(config);
    const { clock } = this;
    const nowMs = () => clock.nowMs();
    this.db = RsDatabase.open(options.path);
    const { db } = this;
    const fail = (error: unknown) => void this.failures.push(error);
    const noted = (...words: unknown[]) => void this.lines.push(JSON.stringify(words));
    const log: Log = { ...silentLog, debug: noted, info: noted, warn: noted, error: noted };
    const resolve: Resolve | undefined = this.resolve;
    const site = {
      clock,
      userAgent: 'test/1',
      allowAddresses: this.allowed,
      ...(resolve !== undefined && { resolve }),
    };
    const asked = { db, site, ports: this.ports };
    const key = hubKey(join(this.dir, 'rs', 'websub.key'));
    const reader = new FeedThread(clock);
    const hubs = new HubClient({ ...asked, nowMs, key, callbacks: `${this.base}websub/` });
    this.polling = new FeedPolling({
      ...asked,
      clock,
      log,
      reader,
      hubs,
      targetOf: () => Promise.resolve(this.target),
      ask: () => Promise.resolve({ provider: this.target === null && !this.isDisabled ? null : {} }),
      pushed: () => void this.stirred++,
      fail,
    });
    this.book = new FeedBook({ db, nowMs, options });
    const { app, counts } = feedDoor({
      db,
      clock,
      polling: this.polling,
      refusals: new PushRefusals({ db, clock, fail }),
      key,
      proxies: [],
      failed: (_path, error) => fail(error),
    });
    this.counts = counts;
    const mounted = new Hono<{ Bindings: NodeBindings }>({ strict: false }).route('/base', app);
    const listener = listenerOf(mounted, silentLog);
    this.#door.removeAllListeners('request').on('request', listener);
  }

  /** Adds the feed of the site. */
  add(everyMs = 30 * MIN, url = this.feedUrl): void {
    this.book.add(PID, url, everyMs, this.target?.roots ?? [], 'operator');
  }

  standing(url = this.feedUrl): PolledFeed['standing'] {
    const feed = this.db.feeds.of(PID).find(each => each.url === url);
    if (feed === undefined) throw new Error(`${url}: not listed`);
    return feed.standing;
  }

  /** Time passes on the wall, and what is due is done. */
  async pass(ms = 0): Promise<void> {
    this.clock.byMs += ms;
    this.polling.stir();
    await this.settle();
  }

  /** Until neither side has anything to do. */
  async settle(): Promise<void> {
    await this.polling.idle();
    await this.hub.settled();
    await this.polling.idle();
  }

  /** Urls that wait for the UNS, which takes them. */
  taken(): string[] {
    const db = openSqlite(this.db.path);
    try {
      const urls = db
        .prepare<[], string>('SELECT curl FROM push_waiting WHERE waits = 1 ORDER BY curl')
        .pluck()
        .all();
      db.exec('DELETE FROM push_waiting');
      return urls.map(url => url.replace(this.site.url, ''));
    } finally {
      db.close();
    }
  }

  /** Requests for the feed since the last time. */
  asked(): string[] {
    return this.requests.splice(0);
  }

  /** As if it was killed: nothing is written any more. */
  reopen(): void {
    this.polling.stop();
    this.db.close();
    this.open();
  }

  close(): void {
    this.polling.stop();
    this.#door.closeAllConnections();
    this.#door.close();
    this.hub.close();
    this.site.close();
    this.db.close();
    rmSync(this.dir, { recursive: true });
  }

  #answer(request: IncomingMessage, response: Parameters<TestSite['answer']>[1]): void {
    const { method = '', url = '', headers } = request;
    const condition = headers['if-none-match'] ?? headers['if-modified-since'];
    this.requests.push(`${method} ${url}${condition === undefined ? '' : ` if ${condition}`}`);
    const page = url === '/feed' ? this.feed : this.site.pages.get(url);
    if (page === undefined) return void response.writeHead(404).end();
    const { etag } = this.feedHeaders;
    if (url === '/feed' && etag !== undefined && condition === etag)
      return void response.writeHead(304, this.feedHeaders).end();
    const more = url === '/feed' ? this.feedHeaders : {};
    response.writeHead(url === '/feed' ? this.feedStatus : 200, {
      'content-type': 'application/rss+xml',
      ...more,
    });
    response.end(page);
  }
}
