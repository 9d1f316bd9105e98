/** Figures over time: what is kept of overviews, and how graphs draw it. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { graphsOf, type GraphView } from '../../src/rs/operator/graph.js';
import { AGE_BANDS, SeriesRecorder } from '../../src/rs/operator/recorder.js';
import { timeTicks, valueTicks } from '../../src/rs/operator/scale.js';
import { overviewAt } from './overviews.js';
import { RsScene } from './support.js';

const TIMES = { fineMs: 10_000, fineKeepMs: 3_600_000, coarseMs: 300_000, coarseKeepMs: 30 * 86_400_000 };
const BEGIN_MS = Date.parse('2026-11-23T10:00:00Z');
let scene: RsScene;
let recorder: SeriesRecorder;

beforeEach(async () => {
  scene = await RsScene.start();
  recorder = new SeriesRecorder(scene.db, TIMES);
});
afterEach(() => scene.close());

test('a moment has the queue in bands of age, what is connected, and rates since the moment before', () => {
  recorder.add(overviewAt(BEGIN_MS));
  recorder.add(overviewAt(BEGIN_MS + 10_000, { stored: 50, wire_bytes: 20_480 }));
  const [first, second, ...more] = recorder.moments('fine', BEGIN_MS + 10_000);
  assert.deepEqual(more, []);
  assert.deepEqual(
    AGE_BANDS.map(({ figure }) => first?.figures[figure]),
    [1, 5, 0, 0, 0],
  );
  assert.equal(first?.figures['stored_per_s'], undefined);
  const { stored_per_s: stored, bytes_per_s: bytes, slots, machines, waiting } = second?.figures ?? {};
  assert.deepEqual([stored, bytes, slots, machines, waiting], [5, 2048, 16, 1, 6]);
});

test('a Queue Manager that has started again makes no rate, and the same look counts once', () => {
  recorder.add(overviewAt(BEGIN_MS, { stored: 500 }));
  recorder.add(overviewAt(BEGIN_MS + 10_000, { stored: 3, pid: 2 }));
  recorder.add(overviewAt(BEGIN_MS + 20_000, { stored: 13, pid: 2 }));
  recorder.add(overviewAt(BEGIN_MS + 20_000, { stored: 13, pid: 2 }));
  assert.deepEqual(
    recorder.moments('fine', BEGIN_MS + 20_000).map(({ figures }) => figures['stored_per_s']),
    [undefined, undefined, 1],
  );
});

test('means are kept for weeks, fine figures for an hour, and both no longer', () => {
  const hours = 3;
  for (let ms = 0; ms <= hours * 3_600_000; ms += 10_000)
    recorder.add(overviewAt(BEGIN_MS + ms, { stored: ms / 1000 }, [ms / 10_000]));
  const endMs = BEGIN_MS + hours * 3_600_000;
  const [fine, coarse] = [recorder.moments('fine', endMs), recorder.moments('coarse', endMs)];
  assert.equal(fine.length, 361);
  assert.ok(scene.db.series.between('fine', 0, endMs + 1).length <= 361 + 30);
  assert.equal(coarse.length, hours * 12);
  assert.equal(coarse[0]?.figures['waiting'], 14.5);
  assert.equal(coarse[1]?.figures['stored_per_s'], 1);

  const later = endMs + 40 * 86_400_000;
  recorder.add(overviewAt(later));
  assert.deepEqual(recorder.moments('coarse', later), []);
  assert.equal(scene.db.series.between('fine', 0, later + 1).length, 1);
});

test('what was read is read again when there is more, when a step is over, and when the clock was set back', () => {
  recorder.add(overviewAt(BEGIN_MS));
  for (const [step, stepMs] of [
    ['fine', 10_000],
    ['coarse', 300_000],
  ] as const) {
    const first = recorder.moments(step, BEGIN_MS + 1);
    assert.equal(recorder.moments(step, BEGIN_MS + stepMs), first);
    const second = recorder.moments(step, BEGIN_MS + stepMs + 1);
    assert.notEqual(second, first);
    assert.notEqual(recorder.moments(step, BEGIN_MS), second, 'set back');
    const before = recorder.moments(step, BEGIN_MS + stepMs);
    recorder.add(overviewAt(BEGIN_MS + stepMs));
    const after = recorder.moments(step, BEGIN_MS + stepMs);
    assert.equal(after.length, before.length + 1);
  }
});

test('a process that starts again makes the mean that the one before has not made', () => {
  for (let ms = 0; ms < 300_000; ms += 10_000) recorder.add(overviewAt(BEGIN_MS + ms));
  assert.deepEqual(recorder.moments('coarse', BEGIN_MS + 300_000), []);
  recorder = new SeriesRecorder(scene.db, TIMES);
  recorder.add(overviewAt(BEGIN_MS + 310_000));
  assert.deepEqual(
    recorder.moments('coarse', BEGIN_MS + 310_000).map(({ atMs }) => atMs),
    [BEGIN_MS],
  );
});

const VIEW: GraphView = {
  id: 'g',
  title: 'A <title>',
  unit: 'urls/s',
  lines: [
    { figure: 'a', label: 'one' },
    { figure: 'b', label: 'two' },
  ],
};
const svgOf = async (view: GraphView, moments: Parameters<typeof graphsOf>[1]) =>
  String(await graphsOf([view], moments, { fromMs: 0, toMs: 100_000, stepMs: 10_000 }));
const pathsOf = (svg: string) =>
  [...svg.matchAll(/class="(?:line|area) s\d"\s+d="([^"]*)"/g)].map(([, d]) => d ?? '');

test('a graph says what it shows to those who do not see it, and breaks where nothing is known', async () => {
  const moments = [0, 10, 20, 60, 70].map(s => ({
    atMs: s * 1000,
    figures: s === 20 ? { a: 3 } : { a: s, b: 1 },
  }));
  const svg = await svgOf(VIEW, moments);
  assert.match(svg, /role="img"[^>]*aria-labelledby="g-title"[^>]*aria-describedby="g-desc"/);
  assert.match(svg, /A &lt;title&gt;/);
  assert.match(svg, /one: 70\/s now, 70\/s at most\. two: 1\/s now, 1\/s at most/);
  const [a = '', b = ''] = pathsOf(svg);
  assert.deepEqual([a.split('M').length - 1, a.split('L').length - 1], [2, 3]);
  assert.equal(b.split('L').length - 1, 2);
  assert.match(await svgOf(VIEW, []), /Nothing yet/);
});

test('in a stack each line lies on the one below', async () => {
  const moments = [0, 10].map(s => ({ atMs: s * 1000, figures: { a: 2, b: 3 } }));
  const [a = '', b = ''] = pathsOf(await svgOf({ ...VIEW, isStacked: true }, moments));
  const yOf = (path: string) => [...path.matchAll(/[ML]\S+ ([\d.]+)/g)].map(([, y]) => Number(y));
  const [bottom, top] = [yOf(a), yOf(b)];
  assert.deepEqual([top[2], top[3]], [bottom[1], bottom[0]]);
  assert.ok((top[0] ?? 0) < (bottom[0] ?? 0));
});

test('many moments are drawn as as many points as there is room for', async () => {
  const moments = Array.from({ length: 8640 }, (_, i) => ({ atMs: i * 300_000, figures: { a: i % 2 } }));
  const times = { fromMs: 0, toMs: 8640 * 300_000, stepMs: 300_000 };
  const [a = ''] = pathsOf(String(await graphsOf([VIEW], moments, times)));
  assert.ok(a.split('L').length <= 400);
});

test('axes have round numbers', () => {
  assert.deepEqual(valueTicks(0, 'rate'), [0, 0.5, 1]);
  assert.deepEqual(valueTicks(0, 'whole'), [0, 1, 2, 3, 4]);
  assert.deepEqual(valueTicks(37, 'whole'), [0, 10, 20, 30, 40]);
  assert.deepEqual(valueTicks(9, 'whole'), [0, 5, 10]);
  assert.deepEqual(valueTicks(80, 'rate'), [0, 20, 40, 60, 80]);
  const MB = 2 ** 20;
  assert.deepEqual(
    valueTicks(3 * MB, 'bytes').map(bytes => bytes / MB),
    [0, 1, 2, 3],
  );
  assert.deepEqual(
    valueTicks(70_000, 'bytes'),
    [0, 20, 40, 60, 80].map(kb => kb * 1024),
  );
  const ticks = timeTicks(BEGIN_MS, BEGIN_MS + 3_600_000);
  assert.ok(
    ticks.length >= 6 && ticks.every(({ atMs, label }) => atMs % 600_000 === 0 && /^\d\d:\d0$/.test(label)),
  );
  const days = timeTicks(BEGIN_MS - 30 * 86_400_000, BEGIN_MS);
  assert.ok(days.length >= 5 && days.every(({ label }) => /^[A-Z][a-z]{2} \d+$/.test(label)));
});
