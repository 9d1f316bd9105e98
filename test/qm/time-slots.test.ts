/** Hours, through the real dispatcher: what waits, what comes back, and in which order. */
process.env['TZ'] = 'Europe/Berlin';

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { rebuildSets } from '../../src/db/queue/sets-from-urls.js';
import { Simulation, type SimulationOptions } from './simulation.js';
import { ok, url } from './support.js';
import { amount } from '../support/long.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A Monday, 10:30 in Berlin. */
const MORNING = Date.UTC(2026, 5, 1, 8, 30);

let sim: Simulation;
afterEach(() => sim.close());

function begin(more: Partial<SimulationOptions> = {}, columns: Record<string, number | string> = {}): void {
  sim = new Simulation({
    startMs: MORNING,
    lanes: { turn: 32 },
    site: request => ({ result: ok(request.url, { fileId: request.url }), tookMs: 1000 }),
    ...more,
  });
  sim.bench.provider(1, columns);
  sim.start();
}

/** The hours from one to another, the second not included. */
const mask = (from: number, to: number) =>
  Array.from({ length: 24 }, (_, hour) => (hour >= from && hour < to ? '1' : '0')).join('');
const fetched = () => sim.fetches.map(fetch => fetch.url.slice('http://127.0.0.1/'.length));
const hourOf = (atMs: number) => new Date(atMs).getHours();
const parts = () =>
  sim.bench.all<{ slot: number }>('SELECT starttimeslot AS slot FROM qpsdb ORDER BY 1').map(row => row.slot);

/** The operator changes something with lccpidb. */
function change(column: string, value: number | string): void {
  sim.bench.db.prepare(`UPDATE pidb SET ${column} = ?`).run(value);
  sim.reload();
}

test('outside its hours a provider is closed: its sets keep their place, and that is not being busy', async () => {
  begin({}, { timeofday: mask(12, 14) });
  await sim.send(1, [url('a'), url('b')]);
  await sim.pass(MINUTE);
  assert.deepEqual([fetched(), parts(), sim.status().isBusy], [[], [-1], false]);
  assert.equal(sim.status().providers_closed, 1);
  await sim.pass(2 * HOUR);
  assert.deepEqual(fetched(), ['a', 'b']);
  assert.equal(hourOf(sim.fetches[0]?.atMs ?? 0), 12);
});

test('when the hours end in the middle of a set what was sent ahead comes back, and the rest goes on in order', async () => {
  begin({}, { timeofday: mask(10, 11) });
  await sim.pass(29 * MINUTE);
  const names = Array.from({ length: 100 }, (_, i) => `p${i}`);
  await sim.send(
    1,
    names.map(name => url(name)),
  );
  await sim.pass(2 * MINUTE);
  const first = sim.fetches.length;
  assert.ok(first > 50 && first < 61, `${first} fetches`);
  assert.ok(sim.recalls > 0);
  assert.equal(sim.status().in_flight, 0);
  await sim.pass(24 * HOUR);
  assert.deepEqual(fetched(), names);
  assert.ok(sim.fetches.every(fetch => hourOf(fetch.atMs) === 10));
});

test('urls wait for their own hours in parts of their set, and come back to their places', async () => {
  begin();
  await sim.send(1, [
    url('a', { tod: '12' }),
    url('b'),
    url('c', { tod: '13-14' }),
    url('d', { tod: '12-13' }),
    url('e', { tod: '10' }),
  ]);
  await sim.pass(MINUTE);
  assert.deepEqual(fetched(), ['b', 'e']);
  assert.deepEqual(parts(), [12, 13]);
  assert.deepEqual([sim.status().rows_later, sim.status().isBusy], [3, false]);
  await sim.pass(4 * HOUR);
  assert.deepEqual(fetched(), ['b', 'e', 'a', 'd', 'c']);
  assert.deepEqual(
    sim.fetches.slice(2).map(fetch => hourOf(fetch.atMs)),
    [12, 12, 13],
  );
  assert.deepEqual(parts(), []);
});

test('a thousand times more than one slice come back in their order, also between those that never left', async () => {
  begin(
    { site: request => ({ result: ok(request.url, { fileId: request.url }), tookMs: 1 }) },
    { timeofday: mask(10, 14) },
  );
  const names = Array.from({ length: amount(2400, 5000) }, (_, i) => `p${String(i).padStart(4, '0')}`);
  await sim.send(
    1,
    names.map((name, i) => url(name, i % 2 === 0 ? { tod: '12' } : {})),
  );
  change('paused', 1);
  await sim.pass(5000);
  const before = sim.fetches.length;
  change('paused', 0);
  await sim.pass(4 * HOUR);
  assert.equal(before, 0);
  const odd = names.filter((_, i) => i % 2 === 1);
  assert.deepEqual(fetched(), [...odd, ...names.filter((_, i) => i % 2 === 0)]);
});

test('a row whose hours end before its turn is split off again', async () => {
  begin({ site: request => ({ result: ok(request.url, { fileId: request.url }), tookMs: 3000 }) });
  await sim.send(
    1,
    Array.from({ length: 1400 }, (_, i) => url(`p${i}`, { tod: '12' })),
  );
  await sim.pass(3 * HOUR);
  const first = sim.fetches.length;
  assert.ok(first > 1000 && first < 1201, `${first} fetches`);
  assert.deepEqual(parts(), [12]);
  await sim.pass(24 * HOUR);
  assert.deepEqual(
    fetched(),
    Array.from({ length: 1400 }, (_, i) => `p${i}`),
  );
  assert.ok(sim.fetches.every(fetch => hourOf(fetch.atMs) === 12));
});

test('a change of the hours has effect at once, in both directions', async () => {
  begin({}, { timeofday: mask(10, 12) });
  await sim.send(1, [url('a', { tod: '11-15' }), ...Array.from({ length: 20 }, (_, i) => url(`p${i}`))]);
  await sim.pass(5000);
  change('timeofday', mask(14, 16));
  await sim.pass(MINUTE);
  const before = sim.fetches.length;
  assert.ok(before <= 6, 'the one being fetched was the last');
  change('timeofday', mask(0, 24));
  await sim.pass(MINUTE);
  assert.equal(sim.fetches.length, 20);
  assert.deepEqual(parts(), [11], 'what waits for a slot was looked at again');
  await sim.pass(HOUR);
  assert.equal(fetched().at(-1), 'a');
});

test('a change of the hours is seen also by a Queue Manager that was started since the urls wait', async () => {
  begin({}, { timeofday: mask(10, 12) });
  await sim.send(1, [url('a', { tod: '11-15' })]);
  await sim.pass(MINUTE);
  await sim.stop();
  sim.start();
  await sim.pass(MINUTE);
  change('timeofday', mask(10, 11));
  await sim.pass(MINUTE);
  assert.deepEqual(sim.bench.all('SELECT code FROM pierr ORDER BY errseq'), [{ code: 614 }]);
  assert.deepEqual([fetched(), parts()], [[], []]);
});

test('a clock that is set forward or back is believed within a minute', async () => {
  const hours = [9, 12, 13];
  begin(
    {},
    { timeofday: Array.from({ length: 24 }, (_, hour) => (hours.includes(hour) ? '1' : '0')).join('') },
  );
  await sim.send(1, [url('a', { tod: '12' }), url('b', { tod: '13' }), url('c', { tod: '9' })]);
  await sim.pass(MINUTE);
  sim.clock.jumpTo(MORNING + 2 * HOUR);
  await sim.pass(MINUTE);
  assert.deepEqual(fetched(), ['a']);
  sim.clock.jumpTo(MORNING + 3 * HOUR);
  await sim.pass(MINUTE);
  assert.deepEqual(fetched(), ['a', 'b']);
  assert.deepEqual(parts(), [9]);
  sim.clock.jumpTo(MORNING - HOUR);
  await sim.pass(MINUTE + 1000);
  assert.deepEqual(fetched(), ['a', 'b', 'c']);
});

test('what begins while no Queue Manager runs is made up for by the next', async () => {
  begin();
  await sim.send(1, [url('a', { tod: '12-15' }), url('b', { tod: '12' }), url('c', { tod: '16' })]);
  await sim.pass(MINUTE);
  await sim.crash();
  await sim.pass(3 * HOUR);
  sim.start();
  await sim.pass(MINUTE);
  assert.deepEqual(fetched(), ['a']);
  assert.deepEqual(parts(), [12, 16]);
});

test('what waits is judged anew in another time zone, and where it is not known what began meanwhile', async () => {
  begin();
  await sim.send(1, [url('a', { tod: '12-20' }), url('b', { tod: '12' })]);
  await sim.pass(MINUTE);
  assert.deepEqual([fetched(), parts()], [[], [12]]);
  await sim.stop();
  process.env['TZ'] = 'Asia/Tokyo';
  try {
    sim.start();
    await sim.pass(MINUTE);
    assert.deepEqual([fetched(), parts()], [['a'], [12]]);
    await sim.send(1, [url('c', { tod: '20-22' })]);
    await sim.pass(MINUTE);
    await sim.crash();
    // As in a database that has just been salvaged.
    sim.bench.db.exec("DELETE FROM meta WHERE key = 'slots'");
    await sim.pass(4 * HOUR);
    sim.start();
    await sim.pass(MINUTE);
    assert.deepEqual([fetched(), parts()], [['a', 'c'], [12]]);
  } finally {
    process.env['TZ'] = 'Europe/Berlin';
  }
});

test('hours that were changed while no Queue Manager ran have effect when the next one starts', async () => {
  begin({}, { timeofday: mask(12, 14) });
  await sim.send(1, [url('a', { tod: '10-13' }), url('b', { tod: '13' })]);
  sim.bench.db.exec("UPDATE pidb SET timeofday = '" + mask(10, 14) + "'");
  sim.reload();
  await sim.pass(MINUTE);
  assert.deepEqual([fetched(), parts()], [['a'], [13]]);
  await sim.send(1, [url('c', { tod: '11-13' })]);
  await sim.pass(MINUTE);
  assert.deepEqual(parts(), [11, 13]);
  await sim.stop();
  sim.bench.db.exec("UPDATE pidb SET timeofday = '" + mask(10, 11) + "'");
  sim.start();
  await sim.pass(MINUTE);
  assert.deepEqual(sim.bench.all('SELECT code FROM pierr ORDER BY errseq'), [{ code: 614 }, { code: 614 }]);
});

test('an hour that summer time leaves out leaves nothing behind', async () => {
  begin({ startMs: Date.UTC(2026, 2, 28, 20, 0) });
  await sim.send(1, [url('a', { tod: '2-4' }), url('b', { tod: '2' })]);
  await sim.pass(9 * HOUR);
  assert.deepEqual(fetched(), ['a']);
  assert.equal(hourOf(sim.fetches[0]?.atMs ?? 0), 3);
  await sim.pass(24 * HOUR);
  assert.equal(hourOf(sim.fetches[1]?.atMs ?? 0), 2);
});

test('an hour that winter time repeats is permitted both times', async () => {
  begin(
    { startMs: Date.UTC(2026, 9, 24, 20, 0), site: request => ({ result: ok(request.url), tookMs: MINUTE }) },
    { timeofday: mask(2, 3) },
  );
  await sim.send(
    1,
    Array.from({ length: 200 }, (_, i) => url(`p${i}`)),
  );
  await sim.pass(12 * HOUR);
  assert.ok(sim.fetches.length >= 119 && sim.fetches.length <= 120, `${sim.fetches.length} fetches`);
});

test('hours that never meet are reported, and what is held stays', async () => {
  begin();
  await sim.send(1, [url('a', { len: '1' })]);
  await sim.pass(MINUTE);
  change('timeofday', mask(8, 20));
  await sim.send(1, [url('a', { len: '2', tod: '22-5' }), url('b', { tod: '22-9' })]);
  await sim.pass(MINUTE);
  assert.deepEqual(sim.bench.all('SELECT code, text, attrs FROM pierr'), [
    {
      code: 614,
      text: 'its hours and those of its provider never meet',
      attrs: ' curl="http://127.0.0.1/a" mimetype="text/html" len="2" tod="22-5"',
    },
  ]);
  assert.deepEqual(parts(), [8]);
  assert.equal(sim.bench.value('SELECT count(*) FROM lccurl'), 1);
});

test('a url submitted again has its new hours at once, and its first place', async () => {
  begin();
  await sim.send(1, [url('a', { tod: '12' }), url('b', { tod: '12' }), url('c', { tod: '12' })]);
  await sim.pass(MINUTE);
  await sim.send(1, [url('d'), url('c'), url('a', { tod: '15' }), url('b', { op: 'delete' })]);
  await sim.pass(MINUTE);
  assert.deepEqual(fetched().toSorted(), ['c', 'd']);
  assert.deepEqual(parts(), [12, 15]);
  await sim.pass(5 * HOUR);
  assert.deepEqual(fetched().at(-1), 'a');
  assert.deepEqual([parts(), sim.bench.value('SELECT count(*) FROM qdb')], [[], 0]);
});

test('with hours of the day only, hours of the week are kept to strictly, and a provider never open is counted', async () => {
  const weekend = '0'.repeat(120) + '1'.repeat(48);
  begin({}, { timeofday: weekend });
  await sim.send(1, [url('a')]);
  await sim.pass(8 * 24 * HOUR);
  assert.deepEqual([fetched(), sim.status().providers_never_open, sim.status().isBusy], [[], 1, false]);
  change('timeofday', '');
  await sim.pass(MINUTE);
  assert.deepEqual(fetched(), ['a']);
});

test('with hours of the week a url waits for its day', async () => {
  begin({ slots: 168 });
  await sim.send(1, [url('a', { tod: '120-143' }), url('b', { tod: '12' })]);
  await sim.pass(7 * 24 * HOUR);
  assert.deepEqual(fetched(), ['b', 'a']);
  const at = new Date(sim.fetches[1]?.atMs ?? 0);
  assert.deepEqual([at.getDay(), at.getHours()], [6, 0]);
});

test('what waits for an hour of the day waits for the right one when hours of the week count from now on', async () => {
  begin();
  await sim.send(1, [url('a', { tod: '9' })]);
  await sim.pass(MINUTE);
  assert.deepEqual(parts(), [9]);
  await sim.stop();
  sim.start(168);
  await sim.pass(MINUTE);
  assert.deepEqual(parts(), [24 + 9], 'tomorrow, not next Monday');
  await sim.stop();
  sim.start(24);
  await sim.pass(MINUTE);
  assert.deepEqual(parts(), [9]);
});

test('sets told anew while parts of them wait for several hours lose nothing when those begin', async () => {
  begin({ site: request => ({ result: ok(request.url, { fileId: request.url }), tookMs: 3000 }) });
  const names = Array.from({ length: 3500 }, (_, i) => `p${i}`);
  await sim.send(
    1,
    names.map((name, i) => url(name, { tod: i < 2000 ? '11-23' : '12-23' })),
  );
  await sim.pass(MINUTE);
  assert.deepEqual(parts(), [11, 12]);
  await sim.stop();
  sim.bench.db.transaction(() => rebuildSets(sim.bench.db))();
  sim.start();
  await sim.pass(6 * HOUR);
  assert.deepEqual(fetched(), names);
});

test('many small sets whose hour begins are put back many a transaction', async () => {
  begin();
  const sets = 300;
  for (let i = 0; i < sets; i++) await sim.send(1, [url(`p${i}`, { tod: '12' })]);
  await sim.pass(HOUR);
  assert.equal(sim.bench.value('SELECT count(*) FROM qpsdb WHERE starttimeslot = 12'), sets);
  const { slots } = sim.bench.store;
  let joined = 0;
  const join = slots.join.bind(slots);
  slots.join = (part, limit) => {
    joined++;
    return join(part, limit);
  };
  const turns: number[] = [];
  await sim.until(() => {
    turns.push(joined);
    return joined === sets;
  }, HOUR);
  const busy = turns.filter(seen => seen > 0 && seen < sets).length;
  assert.ok(busy <= 1, `${busy} turns`);
  await sim.pass(HOUR);
  assert.deepEqual(
    fetched(),
    Array.from({ length: sets }, (_, i) => `p${i}`),
  );
});

test('a set that comes while the parts of those before it are put together is fetched behind them', async () => {
  begin({ site: request => ({ result: ok(request.url, { fileId: request.url }), tookMs: 1 }) });
  const names = Array.from({ length: 4000 }, (_, i) => `p${i}`);
  await sim.send(
    1,
    names.map(name => url(name, { tod: '12' })),
  );
  await sim.pass(HOUR);
  assert.equal(sim.status().rows_later, names.length);
  await sim.until(() => sim.status().rows_later < names.length, HOUR);
  await sim.send(1, [url('later')]);
  assert.ok(sim.status().rows_later > 0, 'some of them wait still');
  assert.ok(await sim.until(() => sim.status().sets === 0, HOUR / 2));
  assert.deepEqual(fetched(), [...names, 'later']);
});

test('what was not yet back in its set when the Queue Manager was killed is put back by one that starts in a later hour', async () => {
  begin();
  await sim.send(
    1,
    Array.from({ length: 15_000 }, (_, i) => url(`p${i}`, { tod: '12-15' })),
  );
  await sim.pass(HOUR);
  const waiting = () => Number(sim.bench.value('SELECT count(*) FROM qdb WHERE slot >= 0'));
  assert.equal(waiting(), 15_000);
  change('paused', 1);
  await sim.until(() => waiting() < 15_000, HOUR);
  await sim.crash();
  assert.ok(waiting() > 0, 'some are not back');
  await sim.pass(2 * HOUR);
  sim.start();
  assert.ok(await sim.until(() => waiting() === 0, HOUR / 4));
});
