/** Audits from the draw to what they say of a provider, through the real store and the chore that settles them. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { silentLog } from '../../../src/lib/log.js';
import { audits } from '../../../src/qm/housekeeping/audits.js';
import { TruthEffects } from '../../../src/qm/housekeeping/truth-effects.js';
import { Bench, failure, ok, unchanged, url } from '../../qm/support.js';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 24 * HOUR;

/** A provider with ten pages, a day old. */
async function audited(t: TestContext, columns = {}) {
  const bench = new Bench({ retries: 0 });
  t.after(() => bench.close());
  bench.provider(7, columns);
  const paths = Array.from({ length: 10 }, (_, i) => `p${i}`);
  for (const path of paths) {
    await bench.send(7, [url(path)]);
    bench.fetch(7, path, path);
  }
  const nowS = () => Math.floor(bench.clock.nowMs() / 1000);
  const { store, clock } = bench;
  const chore = audits({
    store,
    clock,
    log: silentLog,
    onSet: set => void bench.sets.push(set),
  });
  const pass = (seconds: number) => {
    clock.advance(seconds * 1000);
    chore.run();
  };
  pass(DAY);
  /** What waits for an audit is asked for. */
  const answer = (path: string, what: string | number | undefined) => {
    const row = bench.row(7, path);
    assert.ok(row, `${path} waits`);
    const result =
      what === undefined
        ? unchanged
        : typeof what === 'string'
          ? ok(what)
          : failure(what, what >= 500 ? 'url' : 'real');
    assert.equal(bench.answer({ ...row, isSpecial: true }, result, true), 'done');
  };
  const draw = (more: readonly string[]) =>
    bench.send(
      7,
      more.map(path => url(path)),
      { origin: 'audit' },
    );
  const counts = () =>
    bench.all(
      `SELECT sum(audited) AS a, sum(silent) AS q, sum(late) AS late, sum(dead) AS dead, sum(noisy) AS noisy FROM truth`,
    )[0];
  const states = () =>
    bench.all<{ state: number }>('SELECT state FROM audit ORDER BY id').map(one => one.state);
  const codes = () =>
    bench.all<{ code: number }>('SELECT code FROM pierr ORDER BY code').map(one => one.code);
  const dueIn = () => Number(bench.value('SELECT auditdue FROM pidb')) - nowS();
  return { bench, paths, pass, answer, draw, counts, states, codes, dueIn, nowS };
}

test('an audit in which nothing is silent is over when all of it is settled, and the next one follows', async t => {
  const { bench, paths, pass, answer, draw, counts, states, codes, dueIn } = await audited(t);
  await draw(paths);
  assert.deepEqual(
    states(),
    paths.map(() => 0),
  );
  for (const path of paths) answer(path, undefined);
  assert.throws(() =>
    bench.store.transaction(() => {
      bench.store.audits.over(7, 0, 1);
      throw new Error('the disk is full');
    }),
  );
  pass(MINUTE);
  assert.deepEqual(
    bench.store.audits.totals,
    { true: 10, late: 0, silent: 0, dead: 0, failed: 0, clean: 1, silentAudits: 0 },
    'what was rolled back is not counted',
  );
  assert.deepEqual(
    states(),
    paths.map(() => 2),
  );
  assert.deepEqual(counts(), { a: 10, q: 0, late: 0, dead: 0, noisy: 0 });
  assert.equal(dueIn(), DAY, 'none of ten: up to 26 % may be silent');
  assert.deepEqual(codes(), []);
});

test('changed and gone without a word within the hour: silent and dead, told once; with one: late', async t => {
  const { bench, paths, pass, answer, draw, counts, states, codes, dueIn } = await audited(t);
  await draw(paths);
  const [silent = '', late = '', dead = '', deleted = '', ...rest] = paths;
  answer(silent, 'new');
  answer(late, 'new');
  answer(dead, 410);
  answer(deleted, 410);
  for (const path of rest) answer(path, undefined);
  pass(20 * MINUTE);
  for (const path of [silent, late]) answer(path, 'new');
  await bench.send(7, [url(late, { len: '3' }), url(deleted, { op: 'delete' })]);
  pass(39 * MINUTE);
  assert.deepEqual(states().slice(0, 4), [1, 3, 1, 3]);
  pass(MINUTE);
  assert.deepEqual(states().slice(0, 4), [4, 3, 5, 3]);
  assert.deepEqual(counts(), { a: 10, q: 2, late: 2, dead: 1, noisy: 0 });
  assert.deepEqual(codes(), [616, 617]);
  assert.ok(dueIn() <= DAY && dueIn() > 0);
  const totals = { true: 6, late: 2, silent: 1, dead: 1, failed: 0, clean: 0, silentAudits: 1 };
  assert.deepEqual(bench.store.audits.totals, totals);
  pass(DAY);
  assert.deepEqual(codes(), [616, 617]);
  const [score] = bench.store.scores(Math.floor(bench.clock.nowMs() / 1000));
  assert.deepEqual(
    [score?.audit?.settled, score?.audit?.silent, bench.value('SELECT fullsetwanted FROM pidb')],
    [10, 2, null],
  );
});

test('what had changed is silent, whatever the second look finds', async t => {
  const { paths, pass, answer, draw, states, codes } = await audited(t);
  await draw(paths.slice(0, 3));
  for (const path of paths.slice(0, 3)) answer(path, 'new');
  pass(11 * MINUTE);
  answer(paths[0] ?? '', 503);
  answer(paths[1] ?? '', 404);
  answer(paths[2] ?? '', 410);
  pass(HOUR);
  assert.deepEqual(states(), [4, 4, 4]);
  assert.deepEqual(codes(), [616, 616, 616]);
});

test('a second look that is not near the first says nothing: stopped or paused in between, others are drawn', async t => {
  const { bench, paths, pass, answer, draw, counts, states, codes } = await audited(t);
  const [clock = '', never = '', same = '', gone = ''] = paths;
  await draw([clock, never, same, gone]);
  for (const path of [clock, never, same]) answer(path, 'one');
  answer(gone, 410);
  // The LCC is stopped, or the provider is paused: nothing is settled and nothing asked.
  bench.clock.advance(2 * HOUR * 1000);
  pass(0);
  assert.deepEqual(states(), [6, 6, 6, 5]);
  assert.deepEqual([counts(), codes()], [{ a: 1, q: 1, late: 0, dead: 1, noisy: 0 }, [617]]);
});

test('the second look is asked in time and answered long after: it counts neither as silent nor as noise', async t => {
  const { paths, pass, answer, draw, counts, states } = await audited(t);
  const [clock = '', same = ''] = paths;
  await draw([clock, same]);
  for (const path of [clock, same]) answer(path, 'one');
  pass(11 * MINUTE);
  pass(40 * MINUTE);
  answer(clock, 'two');
  answer(same, 'one');
  pass(HOUR);
  assert.deepEqual(states(), [6, 6]);
  assert.deepEqual(counts(), { a: 0, q: 0, late: 0, dead: 0, noisy: 0 });
});

test('404 once is looked at again after an hour, and that it was there is true', async t => {
  const { paths, pass, answer, draw, states } = await audited(t);
  const [back = '', gone = ''] = paths;
  await draw([back, gone]);
  answer(back, 404);
  answer(gone, 404);
  assert.deepEqual(states(), [0, 0]);
  pass(HOUR);
  answer(back, undefined);
  answer(gone, 404);
  assert.deepEqual(states(), [2, 1]);
  pass(HOUR);
  assert.deepEqual(states(), [2, 5]);
});

test('other bytes at every fetch are noise, and count nowhere for 30 days', async t => {
  const { bench, paths, pass, answer, draw, counts, states, codes } = await audited(t);
  const [noisy = ''] = paths;
  await draw([noisy]);
  answer(noisy, 'one');
  pass(4 * MINUTE);
  assert.equal(bench.row(7, noisy), undefined, 'not before five minutes');
  pass(6 * MINUTE);
  answer(noisy, 'two');
  pass(2 * HOUR);
  assert.deepEqual(states(), [6]);
  await bench.send(7, [url(noisy, { len: '5' })]);
  bench.fetch(7, noisy, 'three');
  assert.deepEqual(counts(), { a: 0, q: 0, late: 0, dead: 0, noisy: 1 });
  assert.equal(bench.value('SELECT sum(changed) FROM truth'), 0);
  assert.deepEqual(codes(), []);
  pass(31 * DAY);
  await bench.send(7, [url(noisy, { len: '4' })]);
  bench.fetch(7, noisy, 'four');
  assert.equal(bench.value('SELECT sum(changed) FROM truth'), 1);
});

test('what its owner takes over, or cannot be had, says nothing: others are drawn', async t => {
  const { bench, paths, pass, answer, draw, counts, states } = await audited(t);
  const [taken = '', busy = ''] = paths;
  await draw([taken, busy]);
  await bench.send(7, [url(taken, { len: '9' })]);
  bench.fetch(7, taken, 'new');
  answer(busy, 503);
  pass(HOUR + 1);
  assert.deepEqual(states(), [6, 6]);
  assert.equal(counts()?.['a'], 0);
});

test('much that is silent asks for all that its provider has; the next audit forgets the one before', async t => {
  const { bench, paths, pass, answer, draw, states } = await audited(t);
  await draw(paths);
  for (const path of paths) answer(path, `new ${path}`);
  pass(10 * MINUTE);
  for (const path of paths) answer(path, `new ${path}`);
  pass(HOUR);
  assert.deepEqual(
    states(),
    paths.map(() => 4),
  );
  assert.equal(bench.value('SELECT fullsetwanted FROM pidb'), 'silent changes');
  pass(DAY);
  await draw(paths.slice(0, 3));
  assert.deepEqual(states(), [0, 0, 0]);
});

test('the priority falls at a score below 50 and returns at 60; one that is shown only stays', async t => {
  const { bench, nowS } = await audited(t, { priority: 1 });
  bench.provider(8, { truthmode: 0 });
  const changed: number[] = [];
  const { store, clock } = bench;
  const effects = new TruthEffects({ store, clock, log: silentLog, changed: pid => void changed.push(pid) });
  const priorities = () => {
    effects.run();
    return bench.all<{ priority: number }>('SELECT priority FROM pidb ORDER BY pid').map(one => one.priority);
  };
  const count = (what: 'changed' | 'same', times: number) =>
    store.transaction(() => {
      for (const pid of [7, 8]) for (let i = 0; i < times; i++) store.truth.count(pid, nowS(), what);
    });
  const score = () => store.scores(nowS(), 7)[0]?.truth;
  assert.deepEqual(priorities(), [1, 1]);
  assert.deepEqual(effects.providers, { low: 0, fair: 0, good: 0, unknown: 2 });
  assert.equal(score(), 80);
  count('same', 20);
  assert.equal(score(), 27);
  assert.deepEqual(priorities(), [0, 1]);
  assert.deepEqual(priorities(), [0, 1], 'once');
  assert.deepEqual(effects.providers, { low: 2, fair: 0, good: 0, unknown: 0 });
  count('changed', 10);
  assert.ok((score() ?? 0) >= 50 && (score() ?? 0) < 60, `${score()}`);
  assert.deepEqual(priorities(), [0, 1]);
  count('changed', 20);
  assert.ok((score() ?? 0) >= 60, `${score()}`);
  assert.deepEqual(priorities(), [1, 1]);
  assert.deepEqual(effects.providers, { low: 0, fair: 2, good: 0, unknown: 0 });
  count('changed', 80);
  effects.run();
  assert.deepEqual(effects.providers, { low: 0, fair: 0, good: 2, unknown: 0 });
  assert.deepEqual(changed, [7, 7]);
});
