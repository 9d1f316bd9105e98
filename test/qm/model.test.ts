/**
 * Random sequences of sets, fetches, results, cut connections and crashes, against the model. LCC_MODEL_RUNS asks for
 * more of them. A mutant of the real code (no generation check, no dedupe, reconciling without the queue, forgetting
 * what was absorbed, not freeing a late file) is caught within the default number of runs.
 */
import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WaitingRow } from '../../src/db/queue/row.js';
import type { WaitingSet } from '../../src/db/queue/sets.js';
import { ProviderOrder } from '../../src/qm/schedule/order.js';
import { Model, type ModelResult, type ModelSet, type ModelUrl } from './model.js';
import { absolute, Bench, failure, ok, unchanged, url } from './support.js';

const RUNS = Number(process.env['LCC_MODEL_RUNS'] ?? 100);
const SLICE = 2;
const RETRIES = 2;
const PID = 7;

type Command =
  | { do: 'send'; full: boolean; urls: ModelUrl[]; cutAt: number; crash: boolean }
  | { do: 'resend' }
  | { do: 'take'; count: number }
  | { do: 'answer'; which: number; result: ModelResult; len: number }
  | { do: 'crash' };

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const len = fc.integer({ min: 1, max: 3 });
const anUrl: fc.Arbitrary<ModelUrl> = fc.record({
  key,
  op: fc.constantFrom('update', 'update', 'update', 'delete'),
  len: fc.option(len, { nil: undefined }),
});
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      full: fc.boolean(),
      urls: fc.array(anUrl, { maxLength: 6 }),
      cutAt: fc.oneof(fc.constant(99), fc.integer({ min: 0, max: 6 })),
      crash: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'resend' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('take' as const), count: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      which: fc.nat(8),
      result: fc.constantFrom<ModelResult>('ok', 'ok', 'ok', 'unchanged', 'gone', 'later', 'site'),
      len,
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'crash' as const }) },
);

interface Flying {
  set: WaitingSet;
  row: WaitingRow;
  held: boolean;
  conditional: boolean;
}

/** The real thing and the model, led side by side. */
class Pair {
  readonly bench = new Bench({ sliceUrls: SLICE, retries: RETRIES, errorsKept: 1000 });
  readonly model = new Model(RETRIES);
  readonly #files: string[] = [];
  #order!: ProviderOrder<WaitingSet, WaitingRow>;
  #flying: Flying[] = [];
  #lastSet: { head: ReturnType<Bench['head']>; set: ModelSet } | undefined;
  #cut: { head: ReturnType<Bench['head']>; set: ModelSet; done: number } | undefined;
  #places = 0;

  constructor() {
    this.bench.provider(PID);
    this.crash();
  }

  async run(step: Command): Promise<void> {
    switch (step.do) {
      case 'send':
        await this.#finishCut();
        return this.#send(step);
      case 'resend':
        // A UNS that did not hear the answer: what was absorbed is not absorbed again.
        await this.#finishCut();
        if (this.#lastSet !== undefined) await this.#transmit(this.#lastSet.head, this.#lastSet.set);
        return;
      case 'take':
        return this.#take(step.count);
      case 'answer':
        return this.#answer(step);
      case 'crash':
        return this.crash();
    }
  }

  /** What was in memory is gone. */
  crash(): void {
    this.bench.reopen();
    this.bench.db.pragma('synchronous = OFF');
    this.bench.sets = [];
    this.#flying = [];
    this.#order = new ProviderOrder(this.bench.store.queue);
    for (const set of this.bench.store.queue.sets()) this.#order.add(set);
  }

  async #send(step: Extract<Command, { do: 'send' }>): Promise<void> {
    const set = { id: (this.#lastSet?.set.id ?? 0) + 1, full: step.full, urls: step.urls };
    const head = this.bench.head(PID, set.urls.length, { set: set.full ? 'full' : 'partial' });
    if (step.cutAt > set.urls.length) {
      this.#absorb(set, 0, set.urls.length);
      this.model.finish(set);
      await this.#transmit(head, set);
    } else {
      const intake = await this.bench.intake.begin('u1', head);
      intake.urls(records(set.urls.slice(0, step.cutAt)));
      intake.cut();
      const done = Math.floor(step.cutAt / SLICE) * SLICE;
      // A set of which nothing was committed has no id yet.
      if (done === 0) return;
      this.#absorb(set, 0, done);
      this.#cut = { head, set, done };
      if (step.crash) this.crash();
    }
    this.#lastSet = { head, set };
  }

  async #finishCut(): Promise<void> {
    const cut = this.#cut;
    if (cut === undefined) return;
    this.#cut = undefined;
    this.#places -= cut.set.urls.length;
    this.#absorb(cut.set, cut.done, cut.set.urls.length);
    this.model.finish(cut.set);
    await this.#transmit(cut.head, cut.set);
  }

  #absorb(set: ModelSet, from: number, to: number): void {
    for (let i = from; i < to; i++) {
      const one = set.urls[i];
      if (one !== undefined) this.model.absorb(set, one, this.#places + 1 + i);
    }
    this.#places += set.urls.length;
  }

  async #transmit(head: ReturnType<Bench['head']>, set: ModelSet): Promise<void> {
    const intake = await this.bench.intake.begin('u1', head);
    intake.urls(records(set.urls));
    assert.ok(!('code' in (await intake.end())), 'a whole set is accepted');
    for (const waiting of this.bench.sets.splice(0)) this.#order.add(waiting);
  }

  #take(count: number): void {
    for (const { set, row } of this.#order.take(count, 0)) {
      assert.ok(this.model.complete.has(set.psetid), 'only complete sets are fetched');
      const expected = this.model.waiting.find(r => r.place === row.pos);
      assert.ok(expected, 'what is taken waits');
      const { gen, op, tries, len } = row;
      const { gen: eGen, op: eOp, tries: eTries, len: eLen } = expected;
      assert.deepEqual(
        { gen, op, tries, len: len ?? undefined },
        { gen: eGen, op: eOp, tries: eTries, len: eLen },
      );
      assert.ok(!this.#flying.some(f => f.row.pos === row.pos), 'no url is fetched twice at once');
      if (row.op === 0) {
        const { pos, gen, pid, urlSum } = row;
        this.bench.store.transaction(() =>
          this.bench.store.results.apply(
            { pos, gen, pid, urlSum, conditional: false, held: false, mtime: null, md5: null, len: null },
            undefined,
            0,
          ),
        );
        this.model.pass(row.pos);
        this.#order.done(set, row.pos);
      } else {
        const held = this.bench.store.content.find(PID, row.curl, row.mimetype);
        assert.equal(row.held, held === undefined ? 0 : 1, 'what was read ahead knows what is held');
        this.#flying.push({
          set,
          row,
          held: held !== undefined,
          conditional: held !== undefined && (row.len ?? held.len) === held.len,
        });
      }
    }
  }

  #answer({ which, result, len: size }: Extract<Command, { do: 'answer' }>): void {
    const [flying] = this.#flying.splice(which % Math.max(1, this.#flying.length), 1);
    if (flying === undefined) return;
    const { set, row, held, conditional } = flying;
    const wanted = result === 'unchanged' && !conditional ? 'ok' : result;
    const fileId = `f${this.#files.length}`;
    const content = ok('x'.repeat(row.len ?? size), { fileId });
    if (wanted === 'ok') this.#files.push(fileId);
    const outcome = this.bench.answer({ ...row, held }, RESULTS[wanted] ?? content, conditional);
    this.model.answer({ place: row.pos, gen: row.gen, conditional }, wanted, content.len);
    if (outcome === 'done') this.#order.done(set, row.pos);
    else if (outcome === 'bad') this.#order.bad(set, row.pos, row.tries + 1, 0);
    else this.#order.again(set, row.pos);
  }

  /** Everything that waits is fetched; nothing may be left. */
  async drain(): Promise<void> {
    await this.#finishCut();
    for (let round = 0; this.model.waiting.length > 0; round++) {
      assert.ok(round < 100, `urls wait for ever: ${JSON.stringify(this.model.waiting)}`);
      this.#take(100);
      while (this.#flying.length > 0) this.#answer({ do: 'answer', which: 0, result: 'ok', len: 1 });
      this.#order.finished();
      this.check();
    }
  }

  check(): void {
    const { bench, model } = this;
    assert.deepEqual(
      bench.all('SELECT pos, curl, gen, op, len, tries FROM qdb ORDER BY pos'),
      model.waiting
        .toSorted((a, b) => a.place - b.place)
        .map(r => ({
          pos: r.place,
          curl: absolute(r.key),
          gen: r.gen,
          op: r.op,
          len: r.len ?? null,
          tries: r.tries,
        })),
      'the queue',
    );
    assert.deepEqual(
      bench.all('SELECT curl, len FROM lccurl ORDER BY curl'),
      [...model.held]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, { len: size }]) => ({ curl: absolute(name), len: size })),
      'what is held',
    );
    const pointed = bench.all<{ f: string }>(
      'SELECT fetched_fileid AS f FROM lccurl UNION ALL SELECT fileid FROM freed',
    );
    assert.deepEqual(
      pointed.map(r => r.f).toSorted(),
      this.#files.toSorted(),
      'every file that arrived is pointed to or freed, once',
    );
    assert.equal(bench.value("SELECT value FROM counter WHERE name = 'seq'"), model.changes, 'numbers taken');
    const numbers = bench.all<{ seq: number }>('SELECT seq FROM lccurl UNION ALL SELECT seq FROM tombstone');
    assert.equal(new Set(numbers.map(r => r.seq)).size, numbers.length, 'no number is given twice');
    assert.deepEqual(
      bench.all(
        'SELECT filesused AS files, spaceused AS space, nurlproc AS waiting, nurlerrs AS errors FROM pidb',
      ),
      [
        {
          files: model.held.size,
          space: [...model.held.values()].reduce((sum, h) => sum + h.len, 0),
          waiting: model.waiting.length,
          errors: model.errors,
        },
      ],
      'the counters of the provider',
    );
  }
}

const RESULTS: Partial<Record<ModelResult, ReturnType<typeof failure> | typeof unchanged>> = {
  unchanged,
  gone: failure(404, 'real'),
  later: failure(503, 'url'),
  site: failure(602, 'provider'),
};

function records(urls: readonly ModelUrl[]) {
  return urls.map(one =>
    url(one.key, { op: one.op, ...(one.len === undefined ? undefined : { len: String(one.len) }) }),
  );
}

test('the queue does what the model says, over any sequence of sets, results, cuts and crashes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40 }), async commands => {
      const pair = new Pair();
      try {
        for (const step of commands) {
          await pair.run(step);
          pair.check();
        }
        await pair.drain();
      } finally {
        pair.bench.close();
      }
    }),
    { numRuns: RUNS },
  );
});
