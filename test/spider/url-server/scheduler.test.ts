/** The scheduler against a model of it: who may be sent what, and what becomes of each url. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { SpiderUrl, type UrlFailure } from '../../../src/spider/url-server/spider-url.js';
import { Scheduler, type ConnectedSpider, type Judgement } from '../../../src/spider/url-server/scheduler.js';
import { MAX_CREDIT } from '../../../src/wire/spider-lines.js';
import { amount } from '../../support/long.js';

const SILENCE_MS = 300;
const MAX_TRIES = 3;
const MAX_LOSSES = 4;

type Op =
  | { kind: 'add'; host: number; count: number }
  | { kind: 'join' }
  | { kind: 'get'; spider: number; count: number }
  | { kind: 'working' | 'done'; spider: number; nth: number; isOwn: boolean }
  | { kind: 'full'; spider: number; isFull: boolean }
  | { kind: 'leave'; spider: number }
  | { kind: 'robots'; nth: number; delayMs: number }
  | { kind: 'pass'; ms: number };

const nat = fc.nat(20);
const op: fc.Arbitrary<Op> = fc.oneof(
  fc.record({ kind: fc.constant('add' as const), host: fc.nat(5), count: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('join' as const) }),
  fc.record({
    kind: fc.constant('get' as const),
    spider: nat,
    count: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(MAX_CREDIT)),
  }),
  fc.record({
    kind: fc.constantFrom('working' as const, 'done'),
    spider: nat,
    nth: nat,
    isOwn: fc.boolean(),
  }),
  fc.record({ kind: fc.constantFrom('done' as const), spider: nat, nth: nat, isOwn: fc.constant(true) }),
  fc.record({ kind: fc.constant('full' as const), spider: nat, isFull: fc.boolean() }),
  fc.record({ kind: fc.constant('leave' as const), spider: nat }),
  fc.record({ kind: fc.constant('robots' as const), nth: nat, delayMs: fc.nat(100) }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.oneof(fc.nat(20), fc.nat(SILENCE_MS * 2)) }),
);

const BEGIN: readonly Op[] = [
  { kind: 'join' },
  { kind: 'join' },
  { kind: 'add', host: 0, count: 4 },
  { kind: 'add', host: 1, count: 4 },
];

interface ModelSpider {
  readonly spider: ConnectedSpider;
  credit: number;
  isFull: boolean;
  /** It was silent about a url, and has said nothing since. */
  isSilent: boolean;
  readonly out: Map<string, { url: SpiderUrl; heardMs: number }>;
}

interface ModelHost {
  out: number;
  waiting: number;
  restsUntilMs: number;
  isAsked: boolean;
}

interface Terms {
  perHost: number;
  hostDelayMs: number;
  isShuffled: boolean;
  hasRobots: boolean;
}

/** Of every fourth url, where robots.txt counts. */
const isForbidden = (url: SpiderUrl) => url.number % 4 === 3;

class Model {
  readonly #terms: Terms;
  readonly #scheduler: Scheduler;
  readonly #spiders: ModelSpider[] = [];
  readonly #hosts = new Map<string, ModelHost>();
  readonly #ids = new Set<string>();
  readonly #ended = new Map<SpiderUrl, UrlFailure | undefined>();
  /** Hosts whose robots.txt is known, and the pause it wishes for. */
  readonly #known = new Map<string, number>();
  readonly #asked: string[] = [];
  #urls = 0;
  #nowMs = 0;

  constructor(terms: Terms) {
    this.#terms = terms;
    this.#scheduler = new Scheduler(
      {
        ...terms,
        wishedDelayMs: hostName => this.#known.get(hostName) ?? 0,
        random: terms.isShuffled ? Math.random : undefined,
        silenceMs: SILENCE_MS,
        maxTries: MAX_TRIES,
        maxLosses: MAX_LOSSES,
      },
      {
        judge: terms.hasRobots ? url => this.#judge(url) : undefined,
        ended: (url, failure) => this.#meetEnd(url, failure),
        again: url => void this.#host(url).waiting++,
      },
    );
  }

  do(op: Op): void {
    switch (op.kind) {
      case 'add':
        for (let n = 0; n < op.count; n++) this.#add(`host${op.host}`);
        return;
      case 'join':
        return this.#join();
      case 'get':
        return this.#with(op.spider, each => {
          this.#heard(each);
          each.credit = Math.min(MAX_CREDIT, each.credit + op.count);
          this.#scheduler.get(each.spider, op.count);
        });
      case 'working':
      case 'done':
        return this.#with(op.spider, each => this.#say(op.kind, each, op.nth, op.isOwn));
      case 'full':
        return this.#with(op.spider, each => {
          each.isFull = op.isFull;
          if (!op.isFull) this.#scheduler.drained(each.spider);
        });
      case 'leave':
        return this.#with(op.spider, each => this.#leave(each));
      case 'robots':
        return this.#robots(op.nth, op.delayMs);
      case 'pass':
        return this.#pass(op.ms);
    }
  }

  /** With one good spider that says DONE at once, every url comes to its end. */
  finish(): void {
    for (const each of this.#spiders.slice()) this.#leave(each);
    this.#join();
    const [good] = this.#spiders;
    assert.ok(good);
    good.credit = MAX_CREDIT;
    this.#scheduler.get(good.spider, MAX_CREDIT);
    for (let n = 0; this.#ended.size < this.#urls; n++) {
      assert.ok(n < 10 * this.#urls + 10, `${this.#ended.size} of ${this.#urls} urls have ended`);
      this.#pass(0);
      for (let asked = this.#asked.length; asked > 0; asked--) this.#robots(0, 1);
      while (good.out.size > 0) this.#say('done', good, 0, true);
      const { nextMs } = this.#scheduler;
      if (nextMs !== undefined && nextMs > this.#nowMs) this.#pass(nextMs - this.#nowMs);
    }
    this.#pass(1000);
    assert.deepEqual(
      [this.#scheduler.waiting, this.#scheduler.out, this.#scheduler.hosts, this.#scheduler.nextMs],
      [0, 0, 0, undefined],
    );
  }

  #add(hostName: string): void {
    const number = ++this.#urls;
    const url = new SpiderUrl({ number, docId: number, url: `http://${hostName}/${number}`, hostName });
    this.#host(url).waiting++;
    this.#scheduler.add(url, this.#nowMs);
  }

  #join(): void {
    const spider = this.#scheduler.join({
      get isFull() {
        return each.isFull;
      },
      send: (id, url) => this.#meetSent(each, id, url),
    });
    const each: ModelSpider = { spider, credit: 0, isFull: false, isSilent: false, out: new Map() };
    this.#spiders.push(each);
  }

  #heard(each: ModelSpider): void {
    each.isSilent = false;
  }

  #say(word: 'working' | 'done', each: ModelSpider, nth: number, isOwn: boolean): void {
    this.#heard(each);
    // Another's transaction is as unknown as one that never was.
    const from = isOwn ? each : this.#spiders.find(other => other !== each);
    const ids = [...(from?.out.keys() ?? [])];
    const id = ids[nth % Math.max(1, ids.length)] ?? 'unknown';
    const mine = each.out.get(id);
    assert.equal(this.#scheduler[word](each.spider, id, this.#nowMs), mine !== undefined);
    if (mine === undefined) return;
    mine.heardMs = this.#nowMs;
    if (word === 'done') {
      each.out.delete(id);
      assert.ok(this.#ended.has(mine.url), 'DONE ends a url');
    }
  }

  #leave(each: ModelSpider): void {
    const lost = [...each.out.values()];
    each.out.clear();
    this.#spiders.splice(this.#spiders.indexOf(each), 1);
    for (const { url } of lost) this.#free(url);
    this.#scheduler.leave(each.spider, this.#nowMs);
    for (const { url } of lost) assert.equal(this.#ended.has(url), url.losses >= MAX_LOSSES);
  }

  #robots(nth: number, delayMs: number): void {
    const [hostName] = this.#asked.splice(nth % Math.max(1, this.#asked.length), 1);
    const host = this.#hosts.get(hostName ?? '');
    if (hostName === undefined || host === undefined) return;
    this.#known.set(hostName, delayMs);
    host.isAsked = false;
    this.#rest(hostName, host);
    this.#scheduler.robotsHeard(hostName, this.#nowMs);
  }

  #pass(ms: number): void {
    this.#nowMs += ms;
    const tooLong: [ModelSpider, string, SpiderUrl][] = [];
    for (const each of this.#spiders)
      for (const [id, { url, heardMs }] of each.out)
        if (heardMs + SILENCE_MS <= this.#nowMs) tooLong.push([each, id, url]);
    for (const [each, id, url] of tooLong) {
      each.out.delete(id);
      each.isSilent = true;
      this.#free(url);
    }
    this.#scheduler.pass(this.#nowMs);
    assert.equal(
      this.#scheduler.out,
      this.#spiders.reduce((sum, { out }) => sum + out.size, 0),
    );
    assert.equal(
      this.#scheduler.credit,
      this.#spiders.reduce((sum, { credit }) => sum + credit, 0),
    );
    // Nothing that may go is left.
    if (this.#spiders.some(each => each.credit > 0 && !each.isFull && !each.isSilent))
      for (const [name, host] of this.#hosts)
        assert.ok(!this.#mayGo(host), `${name} waits, and nothing for it`);
  }

  #mayGo({ waiting, out, restsUntilMs, isAsked }: ModelHost): boolean {
    return waiting > 0 && out < this.#terms.perHost && restsUntilMs <= this.#nowMs && !isAsked;
  }

  #meetSent(each: ModelSpider, id: string, url: SpiderUrl): void {
    const host = this.#host(url);
    assert.ok(--each.credit >= 0, 'never more urls than credit');
    assert.ok(!each.isFull && !each.isSilent, 'nothing to one that does not read or talk');
    assert.ok(this.#mayGo(host), `${url.url}: its host has others under way, or rests`);
    assert.ok(!this.#ended.has(url), 'a url that has ended is not sent');
    assert.ok(!this.#terms.hasRobots || (this.#known.has(url.hostName) && !isForbidden(url)));
    assert.ok(!this.#ids.has(id), 'a transaction has its name alone');
    this.#ids.add(id);
    host.waiting--;
    host.out++;
    each.out.set(id, { url, heardMs: this.#nowMs });
  }

  #meetEnd(url: SpiderUrl, failure: UrlFailure | undefined): void {
    assert.ok(!this.#ended.has(url), 'a url ends once');
    this.#ended.set(url, failure);
    switch (failure) {
      case undefined:
        return this.#free(url);
      case 'silent spiders':
        return assert.equal(url.silences, MAX_TRIES);
      case 'lost connections':
        return assert.equal(url.losses, MAX_LOSSES);
      case 'robots.txt cannot be read':
      case 'forbidden by robots.txt':
        assert.ok(isForbidden(url));
        this.#host(url).waiting--;
        return;
    }
  }

  #judge(url: SpiderUrl): Judgement {
    if (this.#known.has(url.hostName)) return isForbidden(url) ? 'forbidden by robots.txt' : 'go';
    const host = this.#host(url);
    if (!host.isAsked) this.#asked.push(url.hostName);
    host.isAsked = true;
    return 'asked';
  }

  /** It is not under way any more. */
  #free(url: SpiderUrl): void {
    const host = this.#host(url);
    host.out--;
    this.#rest(url.hostName, host);
  }

  #rest(hostName: string, host: ModelHost): void {
    host.restsUntilMs = this.#nowMs + Math.max(this.#known.get(hostName) ?? 0, this.#terms.hostDelayMs);
  }

  #host({ hostName }: SpiderUrl): ModelHost {
    const known = this.#hosts.get(hostName);
    if (known !== undefined) return known;
    const host: ModelHost = { out: 0, waiting: 0, restsUntilMs: 0, isAsked: false };
    this.#hosts.set(hostName, host);
    return host;
  }

  #with(nth: number, action: (each: ModelSpider) => void): void {
    const each = this.#spiders[nth % Math.max(1, this.#spiders.length)];
    if (each !== undefined) action(each);
  }
}

describe('the scheduler', () => {
  it('does as its model whatever happens: credit, hosts, pauses, silence, lost connections, robots.txt', () => {
    const terms = fc.record({
      perHost: fc.integer({ min: 1, max: 3 }),
      hostDelayMs: fc.constantFrom(0, 0, 50),
      isShuffled: fc.boolean(),
      hasRobots: fc.boolean(),
    });
    fc.assert(
      fc.property(terms, fc.array(op, { minLength: 20, maxLength: 120, size: 'max' }), (terms, ops) => {
        const model = new Model(terms);
        for (const op of BEGIN) model.do(op);
        for (const op of ops) model.do(op);
        model.finish();
      }),
      { numRuns: amount(300, 2000) },
    );
  });
});
