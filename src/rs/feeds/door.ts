/** The doors of hubs and weblogs, `/websub/TOKEN` and `/ping` below the base path. Nothing is fetched before
 * they have their answer. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { Hono, type Context } from 'hono';
import { KB, MB, SECOND } from '../../config/amounts.js';
import type { RsDatabase } from '../../db/rs/database.js';
import type { PolledFeed } from '../../db/rs/feeds.js';
import type { Clock } from '../../lib/clock.js';
import { LccError } from '../../lib/errors.js';
import type { Network } from '../../lib/network.js';
import { oneLine } from '../../lib/one-line.js';
import { step } from '../../lib/steps.js';
import { clientAddress } from '../../web/client.js';
import { canonicalUrl } from '../../wire/canonical-url.js';
import { strictRootCheck } from '../../wire/roots.js';
import type { NodeBindings } from '../api.js';
import { boundedBody } from '../api-parts.js';
import { Rate } from '../push/rates.js';
import type { PushRefusals } from '../push/refusals.js';
import { RsRequestRefused, tooOften } from '../refusal.js';
import { callbackEnds, hubRefused, hubVerified, secretOf, tokenHash } from './hub.js';
import type { FeedPolling } from './polling.js';
import { hubPushed, wakeMs } from './standing.js';
import { readWeblogPing, weblogAnswer } from './weblog-ping.js';

const MAX_PUSH_BYTES = MB;
const MAX_CHALLENGE = KB;
const MAX_PING_URLS = 20;
/** Bound of one sender. */
const PINGS_PER_SECOND = 10;
const MAX_REASON = 200;
const SIGNATURE = /^(sha1|sha256|sha384|sha512)=([0-9a-f]{40,128})$/i;

type Ask = Context<{ Bindings: NodeBindings }>;

export interface FeedDoorOptions {
  db: RsDatabase;
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  polling: Pick<FeedPolling, 'prompt' | 'stir'>;
  refusals: Pick<PushRefusals, 'add'>;
  key: string;
  proxies: readonly Network[];
  failed: (path: string, error: unknown) => void;
}

/** Pushes of hubs since the start. */
export interface FeedDoorCounts {
  pushes: number;
  unsigned: number;
}

export function feedDoor(options: FeedDoorOptions) {
  const { db, clock, polling, refusals, key, proxies, failed } = options;
  const nowMs = () => clock.nowMs();
  const senders = new Rate(clock, PINGS_PER_SECOND, SECOND);
  const counts: FeedDoorCounts = { pushes: 0, unsigned: 0 };
  const app = new Hono<{ Bindings: NodeBindings }>({ strict: false });

  app.get('/websub/:token', c => {
    const token = tokenHash(c.req.param('token'));
    // A stranger makes no transaction.
    const isKnown = db.feeds.callback(token, nowMs()) !== undefined;
    const answer = isKnown ? db.write(() => heard(token, name => c.req.query(`hub.${name}`))) : undefined;
    if (answer === undefined) return c.text('no such subscription\n', 404);
    step('rs.hub.verified');
    polling.stir();
    return c.text(answer);
  });
  app.post('/websub/:token', async c => {
    const token = c.req.param('token');
    if (db.feeds.callback(tokenHash(token), nowMs()) === undefined)
      return c.text('this subscription is over\n', 410);
    const isSigned = await isSignedBy(secretOf(key, token), c);
    counts[isSigned ? 'pushes' : 'unsigned']++;
    if (isSigned) {
      db.write(() => {
        const { feed: id = 0 } = db.feeds.callback(tokenHash(token), nowMs()) ?? {};
        const feed = db.feeds.get(id);
        if (feed === undefined) return;
        hubPushed(feed.standing, nowMs());
        if (!polling.prompt(feed)) db.feeds.put(feed, wakeMs(feed));
      });
      step('rs.feed.prompted');
      polling.stir();
    }
    return c.body(null, 202);
  });

  app.post('/ping', boundedBody(), async c => {
    const waitMs = senders.take(clientAddress(c.env.incoming, proxies));
    if (waitMs > 0) throw tooOften('too-often', `more than ${PINGS_PER_SECOND} pings in a second`, waitMs);
    const isForm = /^application\/x-www-form-urlencoded\b/i.test(c.req.header('content-type') ?? '');
    if (!isForm) {
      const urls = readPing(new Uint8Array(await c.req.arrayBuffer()));
      const isKnown = pinged(urls);
      const words = isKnown ? 'Thanks for the ping.' : 'No feed of this site is listed here.';
      return c.body(weblogAnswer(!isKnown, words), 200, { 'content-type': 'text/xml; charset=utf-8' });
    }
    const fields = new URLSearchParams(await c.req.text());
    const urls = [...fields.getAll('hub.url'), ...fields.getAll('hub.topic')];
    if (fields.get('hub.mode') !== 'publish' || urls.length === 0 || urls.length > MAX_PING_URLS)
      return c.text(`send hub.mode=publish, and hub.url up to ${MAX_PING_URLS} times\n`, 400);
    return pinged(urls) ? c.body(null, 204) : c.text('no such feed is listed here\n', 404);
  });
  app.all('/ping', c => c.text('POST a ping here\n', 405, { allow: 'POST' }));
  app.onError((error, c) => {
    if (error instanceof RsRequestRefused) {
      if (error.retryAfterS !== undefined) c.header('retry-after', String(error.retryAfterS));
      return c.text(`${error.message}\n`, error.status);
    }
    failed(c.req.path, error);
    return c.text('this cannot be done now\n', 503, { 'retry-after': '10' });
  });
  return { app, counts };

  /** A hub says how it stands; inside a transaction. @returns the answer; undefined: none of it is pending */
  function heard(token: string, field: (name: string) => string | undefined): string | undefined {
    const atMs = nowMs();
    const callback = db.feeds.callback(token, atMs);
    const feed = callback && db.feeds.get(callback.feed);
    if (feed === undefined || field('topic') !== feed.standing.topic) return undefined;
    const { state } = feed.standing;
    const isWanted = state === 'asked' || state === 'renewing';
    if (field('mode') === 'denied' && (isWanted || state === 'active')) {
      const reason = oneLine(field('reason') ?? '', MAX_REASON);
      hubRefused(feed.standing, `the hub refuses${reason === '' ? '' : `: ${reason}`}`, atMs);
      db.feeds.put(feed, wakeMs(feed));
      return '';
    }
    const challenge = field('challenge') ?? '';
    if (field('mode') !== 'subscribe' || !isWanted || callback?.pending !== 1) return undefined;
    if (challenge === '' || challenge.length > MAX_CHALLENGE) return undefined;
    const leaseS = /^\d{1,10}$/.test(field('lease_seconds') ?? '')
      ? Number(field('lease_seconds'))
      : undefined;
    const leaseMs = hubVerified(feed.standing, leaseS, atMs);
    db.feeds.verified(token, feed.id, ...callbackEnds(leaseMs, atMs));
    db.feeds.put(feed, wakeMs(feed));
    return challenge;
  }

  /** @returns false: no feed is listed under any of these */
  function pinged(urls: readonly string[]): boolean {
    const feeds = new Map(urls.flatMap(url => namedBy(url)).map(feed => [feed.id, feed]));
    const [url = ''] = urls;
    if (feeds.size === 0) {
      refusals.add(undefined, 'ping', { url, reason: 'no feed is listed under it' });
      return false;
    }
    db.write(() => {
      const atMs = nowMs();
      for (const feed of feeds.values())
        if (polling.prompt(feed)) db.push.count(feed.pid, 'ping', 'sent', 1, atMs);
    });
    step('rs.feed.prompted');
    polling.stir();
    return true;
  }

  /** Feeds with this url, and those of a provider whose home it is. */
  function namedBy(url: string): PolledFeed[] {
    const { curl } = canonicalUrl(url) ?? {};
    if (curl === undefined) return [];
    const isHome = ({ standing: { roots } }: PolledFeed) => strictRootCheck(roots)(curl);
    const found = [...db.feeds.at(curl), ...db.feeds.ofHost(new URL(curl).host).filter(isHome)];
    return found.filter(({ standing: { doors } }) => doors.length === 0 || doors.includes('ping'));
  }
}

/** @throws RsRequestRefused 400 */
function readPing(body: Uint8Array): string[] {
  try {
    return readWeblogPing(body);
  } catch (error) {
    if (!(error instanceof LccError)) throw error;
    throw new RsRequestRefused(
      400,
      'malformed',
      error.message,
      'send weblogUpdates.ping, or hub.mode=publish',
    );
  }
}

/** Reads the body, and forgets it. @throws RsRequestRefused 413 */
async function isSignedBy(secret: string, c: Ask): Promise<boolean> {
  const [, method = 'sha256', hex = ''] = SIGNATURE.exec(c.req.header('x-hub-signature') ?? '') ?? [];
  const hmac = createHmac(method.toLowerCase(), secret);
  let bytes = 0;
  for await (const piece of (c.req.raw.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    if (bytes > MAX_PUSH_BYTES)
      throw new RsRequestRefused(413, 'too-large', 'the body is too large', 'push less, or nothing');
    hmac.update(piece);
  }
  const [right, given] = [hmac.digest(), Buffer.from(hex, 'hex')];
  return right.length === given.length && timingSafeEqual(right, given);
}
