/** The real Queue Manager and the model of what nobody announced, led side by side through one history. */
import assert from 'node:assert/strict';
import { onStep } from '../../src/lib/steps.js';
import type { FetchRequest, FetchResult } from '../../src/wire/fetch.js';
import { ManualClock } from '../support/manual-clock.js';
import { Crash, Life, type Turns } from './life.js';
import { check, checkUndelayed } from './model-unasked-check.js';
import { ModelRobots } from './model-unasked-robots.js';
import { headOf, recordOf, type UnaskedEvent } from './model-unasked-words.js';
import { ANY, isGated, type Result, type Row } from './model-unasked-types.js';
import { isAgreed, UnaskedModel } from './model-unasked.js';
import type { OneDatabase } from './one-database.js';
import { failure, ok, unchanged } from './support.js';
import { addProvider } from './translate.js';
import { BASE } from './world.js';

const MANY_TURNS = 1000;
const RETRY_MS = 1000;
const RETRIES = 1;
const DAY_S = 86_400;
const RULES = {
  retries: RETRIES,
  retryDelayMs: RETRY_MS,
  backoffMinMs: 4000,
  backoffMaxMs: 10_000,
  errorsKept: 1000,
  sliceUrls: 2,
  window: 1,
  untouchedSets: 2,
  overbookPercent: 0,
  fuse: { percent: 100, urls: 0 },
};
const TERMS = {
  pid: 1,
  priority: 1,
  parallel: 1,
  filesmax: 1000,
  spacemax: 100_000,
  mask: '',
  isSpread: false,
} as const;

/** Places before an event: what need not be fetched, what its owner announced, what may be asked conditionally. */
type Before = Record<'needless' | 'ownersBefore' | 'agreed', ReadonlySet<number>>;

interface Sent {
  id: number;
  link: number;
  place: number;
  gen: number;
  conditional: boolean;
  reports: boolean;
  isRobots: boolean;
  kind: number;
  key: string;
}

export class UnaskedPair {
  readonly #clock = new ManualClock();
  readonly #model = new UnaskedModel(RETRIES);
  readonly #database: OneDatabase;
  readonly #turns: Turns;
  #life: Life;
  #link = 0;
  #sets = 0;
  #places = 0;
  #files = 0;
  /** The url that is being fetched. */
  #sent: Sent | undefined;
  /** Sent in the event that is under way. */
  #newlySent: Sent | undefined;
  #pending: { sent: Sent; result: Result | 'robots' } | undefined;
  readonly #robots = new ModelRobots();
  /** What its owner announced last had no answer. */
  #isOwnerAway = false;
  #stepsToLive = Infinity;
  #failure: unknown;
  #arrived = new Set<string>();

  constructor(database: OneDatabase, turns: Turns) {
    this.#database = database;
    this.#turns = turns;
    database.empty();
    addProvider(database, TERMS);
    database.run('UPDATE pidb SET spider = 1, pacems = 0');
    onStep(name => this.#step(name));
    this.#life = this.#born();
    this.#comes();
  }

  async run(event: UnaskedEvent): Promise<void> {
    // What may vanish at its turn before the event may have done so.
    const needless = new Set(
      this.#model.rows.filter(row => this.#model.isNeedless(row, this.#nowS)).map(row => row.place),
    );
    // One on its way is not waiting, even if it has to be fetched once more.
    const ownersBefore = new Set(this.#owners().filter(place => place !== this.#sent?.place));
    const agreed = new Set(this.#model.rows.filter(row => this.#agrees(row)).map(row => row.place));
    this.#newlySent = undefined;
    await this.#do(event);
    await this.#settle();
    this.#follow(needless);
    if (event.do !== 'set' && event.do !== 'crash') this.#judge({ needless, ownersBefore, agreed });
    check(this.#database, this.#model, this.#arrived);
    if (this.#isOwnerAway) return;
    const isIdle = this.#sent === undefined && this.#link !== 0;
    checkUndelayed(this.#database, isIdle ? this.#owners() : []);
  }

  /** Everything comes to its end. */
  async drain(): Promise<void> {
    this.#stepsToLive = Infinity;
    this.#robots.site.away = false;
    const answer = {
      do: 'answer',
      is: 'ok',
      len: 1,
      type: 'text/html',
      http: 302,
      to: 'a',
      code: 404,
    } as const;
    // What waits no more may still be on its way.
    for (let round = 0; this.#model.rows.length > 0 || this.#sent !== undefined; round++) {
      assert.ok(round < 100, `urls wait for ever: ${JSON.stringify(this.#model.rows)}`);
      await this.run({ ...answer, crashAt: undefined });
      if (this.#sent === undefined) await this.run({ do: 'pass', seconds: 10 });
    }
    await this.#converges();
  }

  /** Links to what was asked and is not held, or held, are not asked for again. */
  async #converges(): Promise<void> {
    const nowS = this.#nowS;
    const there = [...this.#model.known].filter(([, { untilS }]) => untilS > nowS).map(([curl]) => curl);
    const curls = new Set([...there, ...this.#model.held.map(({ curl }) => curl)]);
    const urls = [...curls].map(curl => ({
      curl,
      type: ANY,
      op: 'update' as const,
      ifabsent: true,
      hops: 1,
    }));
    await this.run({ do: 'set', kind: 2, full: false, urls, crashAt: undefined });
    assert.deepEqual(this.#model.rows, [], 'a second crawl asks for nothing');
  }

  get #nowS(): number {
    return Math.floor(this.#clock.nowMs() / 1000);
  }

  async #do(event: UnaskedEvent): Promise<void> {
    switch (event.do) {
      case 'set':
        this.#stepsToLive = event.crashAt ?? Infinity;
        return this.#send(event);
      case 'answer':
        this.#stepsToLive = event.crashAt ?? Infinity;
        return this.#answer(event);
      case 'pass':
        if (event.seconds > DAY_S / 24) this.#clock.jumpTo(this.#clock.nowMs() + event.seconds * 1000);
        return this.#clock.advance(Math.min(event.seconds * 1000, 10_000));
      case 'robots':
        this.#robots.site = { forbids: event.forbids, away: event.away };
        return;
      case 'received': {
        const last = this.#database.read('SELECT max(errseq) FROM pierr')[0]?.[0];
        if (typeof last !== 'number') return;
        Object.assign(this.#model.owner, { errors: [], nurlerrs: 0 });
        const noted = this.#life.intake.note({ pid: 1, seq: 0, ip: '', errseen: last });
        await Promise.all([noted, this.#turns.run(MANY_TURNS)]);
        return;
      }
      case 'crash':
        this.#crash();
        return this.#comes();
    }
  }

  /** A set reaches the Queue Manager; cut off, it comes again. */
  async #send({ kind, full, urls }: Extract<UnaskedEvent, { do: 'set' }>): Promise<void> {
    const id = ++this.#sets;
    const head = headOf(id, { kind, full, urls });
    const absorbed = { is: false };
    for (let tries = 0; !absorbed.is; tries++) {
      assert.ok(tries < 50, 'a set is never absorbed');
      const life = this.#life;
      void (async () => {
        const intake = await life.intake.begin('u1', head);
        intake.urls(urls.map(recordOf));
        const answer = await intake.end();
        assert.ok(!('code' in answer), `a whole set is refused: ${JSON.stringify(answer)}`);
        absorbed.is = true;
      })().catch((error: unknown) => {
        if (error instanceof Crash) life.crashed = true;
        else this.#failure = error;
      });
      await this.#turn();
      for (let wait = 0; wait < 20 && !absorbed.is && !life.crashed; wait++) {
        this.#clock.advance(60);
        await this.#turn();
      }
      if (life.crashed) this.#crash();
    }
    this.#stepsToLive = Infinity;
    const first = this.#places + 1;
    this.#places += urls.length;
    const beside = { set: () => ++this.#sets, place: () => ++this.#places, sliceUrls: RULES.sliceUrls };
    this.#model.absorb({ id, kind, full: full && kind === 0 }, urls, first, this.#nowS, beside);
    this.#comes();
  }

  #answer(event: Extract<UnaskedEvent, { do: 'answer' }>): void {
    const sent = this.#sent;
    if (sent === undefined) return;
    this.#sent = undefined;
    const cost = { id: sent.id, wireBytes: 100, elapsedMs: 1 };
    const { message, result } = sent.isRobots
      ? { message: this.#robots.answer(cost), result: 'robots' as const }
      : this.#resultOf(sent, event, cost);
    this.#pending = { sent, result };
    this.#life.dispatcher.fetched(sent.link, { ...message, id: sent.id });
  }

  #resultOf(
    sent: Sent,
    { is, len, type, http, to, code }: Extract<UnaskedEvent, { do: 'answer' }>,
    cost: { id: number; wireBytes: number; elapsedMs: number },
  ): { message: FetchResult; result: Result } {
    if (is === 'error') {
      const reach = code === 602 ? 'provider' : code >= 500 && code < 600 ? 'url' : 'real';
      return { message: failure(code, reach), result: { is, code, reach } };
    }
    if (is === 'redirect' && sent.reports) {
      const location = to === '' ? 'http://192.0.2.7/' : `${BASE}${to}`;
      return {
        message: { ...cost, status: 'redirect', http, location },
        result: { is, http, to, inside: to !== '' },
      };
    }
    if (is === 'unchanged' && sent.conditional) return { message: unchanged, result: { is } };
    const fileId = `f${++this.#files}`;
    this.#arrived.add(fileId);
    const message = ok('x'.repeat(len), { mimetype: type, fileId, etag: '"1"' });
    return { message, result: { is: 'ok', len, type, file: fileId } };
  }

  /** Something has just become durable. */
  #step(name: string): void {
    if (name === 'qm.result.committed' && this.#pending !== undefined) {
      const { sent, result } = this.#pending;
      this.#pending = undefined;
      if (result === 'robots') {
        this.#robots.answered(this.#nowS);
      } else {
        this.#model.answer(sent, result, this.#nowS);
        const isSilent = result.is === 'error' && result.reach === 'provider';
        if (sent.kind === 0) this.#isOwnerAway = isSilent;
      }
    }
    if (--this.#stepsToLive > 0) return;
    this.#stepsToLive = Infinity;
    throw new Crash();
  }

  async #settle(): Promise<void> {
    await this.#turn();
    for (let n = 0; n < 3 || this.#pending !== undefined; n++) {
      assert.ok(n < 50, 'a result is never committed');
      if (this.#life.crashed) {
        this.#crash();
        this.#comes();
      }
      try {
        this.#clock.advance(60);
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
        this.#life.crashed = true;
      }
      await this.#turn();
    }
    this.#stepsToLive = Infinity;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #turn(): Promise<void> {
    try {
      await this.#turns.run(MANY_TURNS);
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      this.#life.crashed = true;
    }
  }

  /** What was in memory is gone. */
  #crash(): void {
    this.#life.end();
    this.#model.crashed();
    this.#turns.forget();
    this.#stepsToLive = Infinity;
    const { result } = this.#pending ?? {};
    // A file whose result nobody heard is what a crash may leave.
    if (typeof result === 'object' && result.is === 'ok') this.#arrived.delete(result.file);
    this.#pending = this.#sent = this.#newlySent = undefined;
    this.#life = this.#born();
    this.#link = 0;
  }

  #born(): Life {
    this.#life = new Life(this.#database.opened(), this.#clock, RULES);
    this.#life.start();
    return this.#life;
  }

  /** A Bot Manager is there, if none is. */
  #comes(): void {
    if (this.#link !== 0) return;
    const link = (this.#link = this.#sets * 1000 + this.#files + 1);
    const life = this.#life;
    const target = {
      fetch: (request: FetchRequest) => life === this.#life && this.#fetch(link, request),
      recall: () => undefined,
      delete: () => undefined,
    };
    life.dispatcher.setWorker(link, target, 1, true);
  }

  #fetch(link: number, request: FetchRequest): void {
    assert.equal(this.#sent, undefined, 'one url at a time');
    const type = request.mimetype ?? ANY;
    const curl = request.url.slice(BASE.length);
    const isRobots = request.inline !== undefined;
    const find = 'SELECT pos, gen, iif(flags & 60, 1, 0) FROM qdb WHERE curl = ? AND mimetype = ?';
    const row = isRobots ? [0, 0, 1] : this.#database.read(find, request.url, type)[0];
    assert.ok(row, `${curl} ${type} is sent and does not wait`);
    const [place = 0, gen = 0, kind = 0] = row.map(Number);
    const conditional = request.etag !== undefined;
    const reports = request.redirects === 'report';
    const { id } = request;
    const key = `${curl} ${type}`;
    this.#sent = { id, link, place, gen, conditional, reports, isRobots, kind, key };
    this.#newlySent = this.#sent;
  }

  /** What was sent in the event: might it be? */
  #judge({ needless, ownersBefore, agreed }: Before): void {
    const sent = this.#newlySent;
    if (sent === undefined || sent.isRobots) return;
    const model = this.#model;
    const row = model.rows.find(one => one.place === sent.place && one.gen === sent.gen);
    assert.ok(row, `${sent.key} is sent and does not wait`);
    assert.equal(row.op, 1, `${sent.key} is sent and was deleted`);
    assert.equal(sent.reports, isGated(row), `${sent.key}: who follows its redirects`);
    // It may have been sent just before a result brought content; of a type that is named, been read before it.
    const mustAsk = row.type === ANY && agreed.has(row.place) && this.#agrees(row);
    const isFit = sent.conditional ? agreed.has(row.place) || this.#agrees(row) : !mustAsk;
    assert.ok(isFit, `${sent.key}: asked conditionally: ${sent.conditional}`);
    if (row.kind === 0) return;
    const isNeedless = needless.has(row.place) && model.isNeedless(row, this.#nowS);
    assert.ok(!isNeedless, `${sent.key} need not be fetched`);
    const first = this.#owners().filter(place => ownersBefore.has(place));
    assert.deepEqual(first, [], `${sent.key} is sent before what its owner announced`);
    const earlier = model.rows.find(one => one.op === 1 && one.tries === 0 && one.kind < row.kind);
    // One of an earlier class may go without a request, or have become another's place, when its turn comes.
    if (row.tries === 0 && earlier !== undefined && ownersBefore.has(earlier.place))
      assert.fail(`${sent.key} is sent before ${earlier.curl}`);
    if (!isGated(row)) return;
    assert.ok(this.#robots.isKnown(this.#nowS), `${sent.key} is sent without a robots.txt, or by an old one`);
    assert.ok(!this.#robots.isForbidden(row.curl), `${sent.key} is forbidden`);
  }

  /** Urls that their owner announced and that have not failed. */
  #owners(): number[] {
    return this.#model.rows.filter(r => r.kind === 0 && r.op === 1 && r.tries === 0).map(r => r.place);
  }

  #agrees(row: Row): boolean {
    return isAgreed(row, this.#model.heldOf(row));
  }

  /** Rows that have gone without a request. */
  #follow(needless: ReadonlySet<number>): void {
    const here = new Set(this.#database.read('SELECT pos FROM qdb').flat());
    for (const row of this.#model.rows.filter(one => !here.has(one.place))) {
      if (needless.has(row.place)) this.#model.rows = this.#model.rows.filter(one => one !== row);
      else if (!this.#model.mayGo(row, this.#nowS, this.#robots.isForbidden(row.curl)))
        assert.fail(`${row.curl} ${row.type} does not wait any more: ${JSON.stringify(row)}`);
    }
  }
}
