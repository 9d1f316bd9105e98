/**
 * Which url goes to which spider, and what becomes of it: credits, politeness, silence, connections that are
 * lost. Knows no socket and no clock: times are passed in, urls go out through `send`.
 *
 * A spider is sent as many urls as it has asked for and never more. One that was silent about a url is sent
 * nothing until it
 * says something: `talking ──silent transaction──▶ silent ──any line──▶ talking`.
 */
import { Fifo } from '../../lib/fifo.js';
import { transitions, type StateOf } from '../../lib/states.js';
import { MAX_CREDIT } from '../../wire/spider-lines.js';
import { HostQueues, type Politeness } from './host-queues.js';
import type { SpiderUrl, UrlFailure } from './spider-url.js';
import { Transactions } from './transactions.js';

/** Judgement on a url now: it goes, has failed, or waits, it alone, until its host has been `heard`. */
export type Judgement = 'go' | 'asked' | UrlFailure;

export interface SchedulerOptions extends Politeness {
  /** Silence about a url after which it is another spider's. */
  silenceMs: number;
  /** Silent spiders in a row after which the url fails. */
  maxTries: number;
  /** Connections lost with it after which it has failed. */
  maxLosses: number;
}

interface SchedulerEvents {
  /** Asked before a url is sent. Left out: all go. */
  judge?: ((url: SpiderUrl) => Judgement) | undefined;
  /** A url has come to its end. */
  ended(url: SpiderUrl, failure: UrlFailure | undefined): void;
  /** A transaction was given up, and its url waits again. */
  again(url: SpiderUrl, why: UrlFailure): void;
}

/** A spider as it is connected. */
export interface SpiderLink {
  /** Takes no more bytes for now. */
  readonly isFull: boolean;
  send(transId: string, url: SpiderUrl): void;
}

const spiderBecomes = transitions('spider', {
  talking: ['silent', 'gone'],
  silent: ['talking', 'gone'],
  gone: [],
});

type SpiderState = StateOf<typeof spiderBecomes>;

export class ConnectedSpider {
  readonly link: SpiderLink;
  state: SpiderState = 'talking';
  /** Urls it has asked for and not got. */
  credit = 0;
  isListed = false;

  constructor(link: SpiderLink) {
    this.link = link;
  }

  become(state: SpiderState): void {
    this.state = spiderBecomes(this.state, state);
  }
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #events: SchedulerEvents;
  readonly #queues: HostQueues;
  readonly #transactions: Transactions<ConnectedSpider>;
  readonly #spiders = new Set<ConnectedSpider>();
  /** Spiders that may be sent a url, each in its turn. */
  readonly #ready = new Fifo<ConnectedSpider>();
  /** Asked for and not got, by all. */
  #credit = 0;

  constructor(options: SchedulerOptions, events: SchedulerEvents) {
    this.#options = options;
    this.#events = events;
    this.#queues = new HostQueues(options);
    this.#transactions = new Transactions(options.silenceMs);
  }

  get waiting(): number {
    return this.#queues.waiting;
  }

  get out(): number {
    return this.#transactions.size;
  }

  /** Urls sent, each as often as it was. */
  get sent(): number {
    return this.#transactions.begun;
  }

  get credit(): number {
    return this.#credit;
  }

  get spiders(): number {
    return this.#spiders.size;
  }

  get hosts(): number {
    return this.#queues.hosts;
  }

  /** When `pass` has something to do even if nothing happens until then; undefined: never. */
  get nextMs(): number | undefined {
    const silentMs = this.#transactions.nextMs;
    // A host that has rested matters if somebody waits for its urls.
    const restedMs = this.#credit > 0 ? this.#queues.nextMs : undefined;
    return silentMs === undefined || restedMs === undefined
      ? (silentMs ?? restedMs)
      : Math.min(silentMs, restedMs);
  }

  outOf(spider: ConnectedSpider): number {
    return this.#transactions.sizeOf(spider);
  }

  add(url: SpiderUrl, nowMs: number): void {
    this.#queues.add(url, nowMs);
  }

  join(link: SpiderLink): ConnectedSpider {
    const spider = new ConnectedSpider(link);
    this.#spiders.add(spider);
    return spider;
  }

  /** The connection of a spider is closed: its urls are given to others. */
  leave(spider: ConnectedSpider, nowMs: number): void {
    spider.become('gone');
    this.#spiders.delete(spider);
    this.#charge(spider, -spider.credit);
    for (const { url } of this.#transactions.lost(spider)) {
      url.losses++;
      this.#retry(url, 'lost connections', url.losses >= this.#options.maxLosses, nowMs);
    }
  }

  /** The spider has room for more urls. Credit beyond the largest counts for nothing. */
  get(spider: ConnectedSpider, count: number): void {
    this.heard(spider);
    this.#charge(spider, Math.min(count, MAX_CREDIT - spider.credit));
    this.#list(spider);
  }

  /** The spider has said something. @returns true if it may be sent urls again because of that */
  heard(spider: ConnectedSpider): boolean {
    if (spider.state !== 'silent') return false;
    spider.become('talking');
    this.#list(spider);
    return true;
  }

  /** The spider takes bytes again. */
  drained(spider: ConnectedSpider): void {
    this.#list(spider);
  }

  /** @returns whether that is a transaction of the spider */
  working(spider: ConnectedSpider, transId: string, nowMs: number): boolean {
    this.heard(spider);
    return this.#transactions.working(transId, spider, nowMs);
  }

  /** @returns whether that was a transaction of the spider */
  done(spider: ConnectedSpider, transId: string, nowMs: number): boolean {
    this.heard(spider);
    const transaction = this.#transactions.done(transId, spider);
    if (transaction === undefined) return false;
    const { url } = transaction;
    url.become('done');
    this.#queues.ended(url, nowMs);
    this.#events.ended(url, undefined);
    return true;
  }

  /** The rules of a host's robots.txt are known. */
  robotsHeard(hostName: string, nowMs: number): void {
    this.#queues.heard(hostName, nowMs);
  }

  /** Gives up what was silent for too long, and sends what may go. */
  pass(nowMs: number): void {
    for (let silent; (silent = this.#transactions.silent(nowMs)) !== undefined;) {
      const { owner, url } = silent;
      if (owner.state === 'talking') owner.become('silent');
      url.silences++;
      this.#retry(url, 'silent spiders', url.silences >= this.#options.maxTries, nowMs);
    }
    for (let spider; (spider = this.#nextSpider()) !== undefined;) {
      const url = this.#nextUrl(nowMs);
      if (url === undefined) return this.#list(spider);
      this.#charge(spider, -1);
      url.become('out');
      spider.link.send(this.#transactions.begin(url, spider, nowMs).id, url);
      this.#list(spider);
    }
  }

  #nextUrl(nowMs: number): SpiderUrl | undefined {
    for (let url; (url = this.#queues.take(nowMs)) !== undefined;) {
      const judgement = this.#events.judge?.(url) ?? 'go';
      if (judgement === 'go') return url;
      if (judgement === 'asked') {
        this.#queues.ask(url, nowMs);
        continue;
      }
      // No request was made.
      this.#fail(url, judgement, nowMs, false);
    }
    return undefined;
  }

  #retry(url: SpiderUrl, why: UrlFailure, isLast: boolean, nowMs: number): void {
    if (isLast) return this.#fail(url, why, nowMs, true);
    url.become('waiting');
    this.#queues.putBack(url, nowMs);
    this.#events.again(url, why);
  }

  #fail(url: SpiderUrl, why: UrlFailure, nowMs: number, isPaused: boolean): void {
    url.become('failed');
    this.#queues.ended(url, nowMs, isPaused);
    this.#events.ended(url, why);
  }

  #nextSpider(): ConnectedSpider | undefined {
    for (let spider; (spider = this.#ready.shift()) !== undefined;) {
      spider.isListed = false;
      if (mayBeSent(spider)) return spider;
    }
    return undefined;
  }

  #list(spider: ConnectedSpider): void {
    if (spider.isListed || !mayBeSent(spider)) return;
    spider.isListed = true;
    this.#ready.push(spider);
  }

  #charge(spider: ConnectedSpider, count: number): void {
    spider.credit += count;
    this.#credit += count;
  }
}

function mayBeSent({ state, credit, link }: ConnectedSpider): boolean {
  return state === 'talking' && credit > 0 && !link.isFull;
}
