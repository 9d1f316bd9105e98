/** The real Queue Manager and the model of it, led side by side through one history. */
import assert from 'node:assert/strict';
import { onStep } from '../../src/lib/steps.js';
import type { DeleteRequest, FetchRequest } from '../../src/wire/fetch.js';
import { ManualClock } from '../support/manual-clock.js';
import { at, Forwarding } from './forwarding.js';
import type { Event, Setting } from './history.js';
import { Inspector } from './inspector.js';
import { Crash, Life, type Turns } from './life.js';
import { Ledger } from './ledger.js';
import { NOTHING_SAVED } from './model-types.js';
import { agrees } from './model-words.js';
import { Model, type Now, type Result, type Url } from './model.js';
import type { OneDatabase } from './one-database.js';
import type { Scene } from './scene.js';
import { comesBefore } from './sendable.js';
import { md5Of } from './support.js';
import { addProvider, answerOf } from './translate.js';
import { BASE, LOOK_MS, World, type Bm, type Request } from './world.js';

const ALL_TURNS = 1000;
const HOUR_MS = 3_600_000;

export class Pair implements Scene {
  readonly world = new World();
  readonly clock = new ManualClock();
  readonly model: Model;
  readonly ledger = new Ledger();
  readonly #rules: Setting['rules'];
  readonly #database: OneDatabase;
  readonly #turns: Turns;
  readonly #inspector: Inspector;
  readonly #forwarding: Forwarding;
  #life: Life;
  #links = 0;
  /** Results the Queue Manager has heard and not committed. */
  #pending: { request: Request; result: Result }[] = [];
  /** When whatever has failed so far is due again. */
  failedDueMs = 0;
  /** Since when it is this hour, monotonic. */
  hourSinceMs = 0;
  #hour: number;
  #stepsToLive = Infinity;
  #failure: unknown;
  /** By provider: what its last full set said. */
  readonly #fullSets = new Map<number, Url[]>();

  constructor(database: OneDatabase, turns: Turns, { terms, rules }: Setting) {
    this.#database = database;
    this.#turns = turns;
    this.#rules = rules;
    this.model = new Model(rules, terms);
    this.#hour = this.hour;
    database.empty();
    for (const one of terms) addProvider(database, one);
    this.#inspector = new Inspector(database.db, this);
    const { world, model, ledger } = this;
    this.#forwarding = new Forwarding({
      world,
      model,
      ledger,
      life: () => this.#life,
      failed: error => (this.#failure = error),
    });
    onStep(name => this.#step(name));
    this.#life = this.#born();
  }

  async run(event: Event): Promise<void> {
    await this.#live(event);
    this.#inspector.check();
  }

  /** Nothing bad happens any more: everything must come to its end. */
  async drain(): Promise<void> {
    this.#stepsToLive = Infinity;
    for (const pid of this.model.providers.keys()) await this.#live({ do: 'control', pid, what: 'resume' });
    for (let round = 0; ; round++) {
      for (const { pid } of this.model.fused.values())
        await this.#live({ do: 'control', pid, what: 'release' });
      assert.ok(round < 200, `urls wait for ever: ${JSON.stringify(this.model.rows)}`);
      for (let which = 0; which < this.world.bms.length; which++)
        await this.#live({ do: 'bm', which, slots: 1 });
      for (let uns = 0; uns < this.world.unses.length; uns++)
        await this.#live({ do: 'forward', uns, urls: 99, fate: 'wait' });
      await this.#live({ do: 'unlink', count: 99, away: false });
      await this.#live({ do: 'answer', which: 0, count: 99, result: 'ok', len: 1, announced: true });
      await this.#live({ do: 'pass', ms: round % 2 ? 70_000 : 60 });
      if (round % 4 === 3) await this.#live({ do: 'jump', ms: HOUR_MS });
      this.#inspector.check();
      // Sets without urls, and providers without sets, are forgotten when their provider's hours come.
      const { sets, providers } = this.#life.dispatcher.status();
      if (this.#inspector.isOver() && sets === 0 && providers === 0) break;
    }
    this.#inspector.checkEnd(this.#life.dispatcher.status());
  }

  get now(): Now {
    return { ms: this.clock.monotonicMs(), wallMs: this.clock.nowMs() };
  }
  get hour(): number {
    return new Date(this.clock.nowMs()).getHours();
  }
  /** The hour at the end of the moment for which nothing is begun any more (`CLOSING_MS` of src/qm/time-slots.ts). */
  get soon(): number {
    return new Date(this.clock.nowMs() + 1000).getHours();
  }
  get isHourEnding(): boolean {
    return new Date(this.clock.nowMs() + 2000).getHours() !== this.hour;
  }
  /** Whether a result of a url of the set is not committed yet. */
  isArriving(set: number): boolean {
    return this.#pending.some(({ request }) => request.row.set === set);
  }
  /** Files of results that are not committed yet. */
  arriving(): string[] {
    return this.#pending.flatMap(({ result }) => (result.is === 'ok' ? [result.file] : []));
  }
  capacityOf(bm: Bm): number {
    if (bm.restUntilMs > this.now.ms) return 0;
    return Math.ceil(bm.slots * (1 + this.#rules.overbookPercent / 100));
  }

  async #live(event: Event): Promise<void> {
    try {
      this.#seeHour();
      await this.#do(event);
      this.#seeHour();
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      this.#life.crashed = true;
    }
    if (this.#life.crashed) this.#crash();
    await this.#settle();
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #do(event: Event): Promise<void> {
    const { world, model } = this;
    switch (event.do) {
      case 'submit':
        if (event.full) this.#fullSets.set(event.pid, event.urls);
        return this.#forwarding.submit(event);
      case 'again': {
        const urls = this.#fullSets.get(event.pid);
        return urls === undefined ? undefined : this.#forwarding.submit({ ...event, full: true, urls });
      }
      case 'forward':
        return this.#forwarding.forward(event.uns, event);
      case 'answer':
        for (let n = 0; n < event.count; n++) this.#answer(event);
        return;
      case 'bm':
        return this.#setSlots(at(world.bms, event.which), event.slots);
      case 'unlink':
        for (const bm of world.bms) {
          for (const unlink of bm.unlinks.splice(0, event.count)) {
            if (!event.away) world.disk.delete(`${bm.machine}/${unlink.file}`);
            const status = event.away ? 'away' : 'ok';
            this.#life.errands.answered(bm.target as never, 'delete', { id: unlink.id, status });
          }
        }
        return;
      case 'pass':
        return this.#pass(event.ms);
      case 'jump':
        this.clock.jumpTo(this.clock.nowMs() + event.ms);
        return model.jumped(event.ms);
      case 'crash':
        throw new Crash();
      case 'crash-at':
        this.#stepsToLive = event.steps;
        return;
      case 'control': {
        const { pid, what } = event;
        const provider = model.provider(pid);
        // What was to go stays, and the provider is not told.
        if (what === 'discard') this.ledger.given(pid);
        if (what === 'flush') provider.saved = { ...NOTHING_SAVED };
        else if (what === 'want-full') provider.wanted = true;
        else if (what === 'release' || what === 'discard') model.decide(pid, what === 'release');
        else provider.paused = what === 'pause';
        this.#life.controls[what]?.([String(pid)]);
        // What had arrived is written first.
        if (what === 'flush') model.flush(pid);
        return;
      }
      case 'received': {
        const errseen = this.#inspector.errseqOf(event.pid, event.count);
        model.delivered(event.pid, event.count);
        const noted = this.#life.intake.note({ pid: event.pid, seq: 0, ip: '', errseen });
        await Promise.all([noted, this.#turns.run(ALL_TURNS)]);
        return;
      }
    }
  }

  /** Lets time pass, a little first, so that results are written and what follows from them happens in its time. */
  async #pass(ms: number): Promise<void> {
    this.clock.advance(Math.min(ms, 60));
    await this.#turns.run(ALL_TURNS);
    if (!this.#life.crashed) this.clock.advance(Math.max(0, ms - 60));
  }

  #answer({ which, result: kind, len, announced }: Extract<Event, { do: 'answer' }>): void {
    const waiting = this.world.requests();
    const request = waiting[which % Math.max(1, waiting.length)];
    if (request === undefined) return;
    const { bm, sent, row } = request;
    const isBegun = bm.requests.find(r => r.lane === request.lane) === request;
    bm.requests = bm.requests.filter(r => r !== request);
    if (isBegun) this.#begun(bm.requests.find(r => r.lane === request.lane));
    const now = this.now;
    const { result, message } = answerOf(kind, this.world, bm, announced ? (row.md5 ?? row.len ?? len) : len);
    if (result === undefined) {
      this.model.givenBack(row);
      bm.restUntilMs = now.ms + this.#rules.backoffMinMs;
    } else {
      this.model.heard(sent, result, now);
      this.#pending.push({ request, result });
    }
    assert.ok(this.#life.dispatcher.fetched(bm.link, { ...message, id: request.id }), 'an answer asked for');
  }

  /** A robot goes on with the next url of a lane. */
  #begun(request: Request | undefined): void {
    if (request === undefined) return;
    const { pid, key } = request.row;
    assert.ok(!this.model.provider(pid).paused, `${pid} ${key} is begun although its provider is paused`);
    if (this.now.ms - this.hourSinceMs <= LOOK_MS) return;
    const permitted = this.model.permits({ pid, tod: request.tod }, this.hour);
    assert.ok(permitted, `${pid} ${key} is begun outside its hours`);
  }

  #setSlots(bm: Bm, slots: number): void {
    const { model } = this;
    const { dispatcher, errands } = this.#life;
    if (slots === 0) {
      if (bm.link === 0) return;
      for (const { row } of bm.requests) model.givenBack(row);
      const { link, target } = bm;
      bm.gone();
      dispatcher.removeWorker(link);
      errands.removePeer(target as never);
      return;
    }
    bm.slots = slots;
    if (bm.link === 0) {
      const link = (bm.link = ++this.#links);
      bm.target = {
        fetch: (request: FetchRequest) => bm.link === link && this.#fetch(bm, request),
        recall: (lane: string) => bm.link === link && bm.recalls.push(lane),
        delete: (request: DeleteRequest) => bm.link === link && this.#delete(bm, request),
      };
    }
    dispatcher.setWorker(bm.link, bm.target as never, slots);
    errands.setMachines(bm.target as never, [bm.machine]);
  }

  /** What may be fetched now and could not before has perhaps been passed over. */
  #seeHour(): void {
    const { hour, model } = this;
    if (hour === this.#hour) return;
    for (const row of model.rows) row.passed ||= !model.permits(row, this.#hour) && model.permits(row, hour);
    this.#hour = hour;
    this.hourSinceMs = this.now.ms;
  }

  /** The Queue Manager sends a url: may it? */
  #fetch(bm: Bm, request: FetchRequest): void {
    this.#seeHour();
    const { model, now } = this;
    const key = `${request.url.slice(BASE.length)} ${request.mimetype}`;
    const pid = Number.parseInt(request.lane);
    const row = model.rowOf(pid, key);
    assert.ok(row, `${pid} ${key} is sent and does not wait`);
    const provider = model.provider(pid);
    assert.equal(model.refusal(row, now.ms, this.hour, this.soon), undefined, `${pid} ${key} is sent`);
    assert.equal(request.len, row.len, 'the last attributes win');
    assert.equal(request.md5, row.md5 === undefined ? undefined : md5Of('x'.repeat(row.md5)));
    const held = model.heldOf(pid, key);
    const conditional = request.etag !== undefined || request.lastModified !== undefined;
    const isUnchanged = held !== undefined && agrees(row, held);
    assert.equal(conditional, isUnchanged, `${key}: asked conditionally`);

    const lanes = bm.lanes();
    const sameLane = bm.requests.filter(r => r.lane === request.lane);
    assert.ok(sameLane.length < this.#rules.window, 'more than a window in a lane');
    if (sameLane.length === 0) {
      assert.ok(lanes.size < this.capacityOf(bm), `${bm.machine} has more lanes than slots`);
      const ofProvider = this.world.bms.flatMap(b => [...b.lanes()].filter(l => Number.parseInt(l) === pid));
      assert.ok(ofProvider.length < provider.parallel, `provider ${pid} is fetched from twice at once`);
      const free = this.world.bms.map(b => Math.max(0, this.capacityOf(b) - b.lanes().size));
      const first = free.reduce((sum, n) => sum + n) === 1 ? comesBefore(this, pid) : undefined;
      assert.equal(first?.key, undefined, `provider ${pid} has the last slot`);
      assert.ok(!ofProvider.includes(request.lane), `lane ${request.lane} is open at two Bot Managers`);
    }
    row.out = true;
    const { place, gen } = row;
    const sent = { place, gen, pid, conditional, failures: provider.failures };
    bm.requests.push({ id: request.id, bm, lane: request.lane, row, tod: row.tod, sent });
  }

  #delete(bm: Bm, { id, machineId, fileId }: DeleteRequest): void {
    this.#inspector.follow();
    assert.equal(machineId, bm.machine, 'a machine deletes its own files');
    const path = `${machineId}/${fileId}`;
    for (const held of this.model.held.values()) assert.notEqual(held.file, path, `${held.key} is deleted`);
    bm.unlinks.push({ id, file: fileId });
  }

  /** Something has just become durable. */
  #step(name: string): void {
    if (name === 'qm.result.committed') {
      for (const { request, result } of this.#pending) this.model.answer(request.sent, result, this.now);
      for (const row of this.model.rows) if (!row.out) row.passed = false;
      this.#pending = [];
      this.failedDueMs = this.now.ms + this.#rules.retryDelayMs * 2 ** this.#rules.retries;
    }
    this.#inspector.follow();
    if (--this.#stepsToLive === 0) {
      this.#stepsToLive = Infinity;
      throw new Crash();
    }
  }

  /** What was in memory is gone; what was committed is not. UNSes and Bot Managers find out and come back. */
  #crash(): void {
    this.#life.end();
    this.#turns.forget();
    this.#stepsToLive = Infinity;
    for (const { result } of this.#pending) if (result.is === 'ok') this.world.orphans.add(result.file);
    this.#pending = [];
    for (const uns of this.world.unses) uns.open = undefined;
    this.model.restarted(this.now);
    const slots = this.world.bms.map(bm => bm.slots);
    for (const bm of this.world.bms) bm.gone();
    this.#life = this.#born();
    this.world.bms.forEach((bm, i) => this.#setSlots(bm, slots[i] ?? 0));
  }

  #born(): Life {
    const life = new Life(this.#database.opened(), this.clock, this.#rules);
    this.#life = life;
    life.start();
    return life;
  }

  /** Lets the Queue Manager do what it can do now. A step on the way may end it. */
  async #settle(): Promise<void> {
    for (;;) {
      try {
        await this.#turns.run(ALL_TURNS);
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
        this.#life.crashed = true;
      }
      if (this.#life.crashed) this.#crash();
      else if (!this.#giveBack()) return;
    }
  }

  /** Bot Managers give back what was recalled. @returns whether there was anything */
  #giveBack(): boolean {
    const { dispatcher } = this.#life;
    let any = false;
    for (const bm of this.world.bms) {
      for (const { id, row } of bm.takeRecalled()) {
        this.model.givenBack(row);
        any = true;
        assert.ok(dispatcher.fetched(bm.link, { id, status: 'recalled' }), 'given back as asked for');
      }
    }
    return any;
  }
}
