/** Many sets of one url each that wait for an hour, through the real dispatcher. */
process.env['TZ'] = 'Europe/Berlin';

import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';
import { zoneOffsets } from '../../src/config/hours.js';
import { Simulation } from './simulation.js';
import { ok, url } from './support.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A Monday, 10:30 in Berlin. */
const MORNING = Date.UTC(2026, 5, 1, 8, 30);

let sim: Simulation;
afterEach(() => sim.close());

const fetched = () => sim.fetches.map(fetch => fetch.url.slice('http://127.0.0.1/'.length));
const waiting = () =>
  sim.bench.all('SELECT (SELECT count(*) FROM qdb) AS urls, (SELECT count(*) FROM qpsdb) AS parts');

/** Sets of one url each that wait for 12 o'clock, as they stand in the queue; those of a provider follow each other. */
function queueUp(providers: readonly { pid: number; sets: number }[]): void {
  const { db } = sim.bench;
  const row = db.prepare(
    `INSERT INTO qdb(pos, pid, curl, mimetype, psetid, slot, tod) VALUES (?, ?, 'http://127.0.0.1/' || ?, 'text/html', ?, 12, '12')`,
  );
  const part = db.prepare('INSERT INTO qpsdb VALUES (?, 12, ?, ?, ?, 0, 0)');
  db.transaction(() => {
    let n = 0;
    for (const { pid, sets } of providers) {
      for (let i = 0; i < sets; i++) {
        n++;
        row.run(n, pid, `p${n}`, n);
        part.run(n, pid, n, n);
      }
      db.prepare('UPDATE pidb SET nurlproc = ? WHERE pid = ?').run(sets, pid);
    }
    db.prepare("UPDATE counter SET value = ? WHERE name IN ('pos', 'psetid')").run(n);
    const { slots } = sim.bench.store;
    slots.setLastLook({ atMs: MORNING, slots: 24, basis: `${zoneOffsets()}/${slots.hoursSum()}` });
  })();
}

/** How many parts are read at each call, and joined so far. */
function watchParts(): { read: number[]; joined: number } {
  const { slots } = sim.bench.store;
  const seen = { read: [] as number[], joined: 0 };
  const parts = slots.parts.bind(slots);
  mock.method(slots, 'parts', (...asked: Parameters<typeof parts>) => {
    const found = parts(...asked);
    seen.read.push(found.length);
    return found;
  });
  const join = slots.join.bind(slots);
  slots.join = (part, limit) => {
    seen.joined++;
    return join(part, limit);
  };
  return seen;
}

function prepare(providers: readonly { pid: number; sets: number }[]): void {
  sim = new Simulation({
    startMs: MORNING,
    lanes: { turn: 32 },
    site: request => ({ result: ok(request.url, { fileId: request.url }), tookMs: 1 }),
  });
  for (const { pid } of providers) sim.bench.provider(pid);
  queueUp(providers);
}

test('parts that wait for later are not looked at by a start, and few at a time when their hour begins', async () => {
  const sets = 5000;
  prepare([{ pid: 1, sets }]);
  const seen = watchParts();
  sim.start();
  await sim.pass(MINUTE);
  assert.deepEqual(seen, { read: [], joined: 0 });
  assert.ok(await sim.until(() => seen.joined > 0, 2 * HOUR));
  assert.ok(await sim.until(() => fetched().length === sets, HOUR));
  assert.equal(seen.joined, sets);
  assert.ok(seen.read.length < 30 && Math.max(...seen.read) < 500, String(seen.read));
  assert.deepEqual(
    fetched(),
    Array.from({ length: sets }, (_, i) => `p${i + 1}`),
  );
  await sim.pass(MINUTE);
  assert.deepEqual(waiting(), [{ urls: 0, parts: 0 }]);
});

test('the many parts of one provider are joined behind the few of others, whoever comes first', async () => {
  prepare([
    { pid: 1, sets: 8000 },
    { pid: 2, sets: 1 },
  ]);
  const seen = watchParts();
  let before = 0;
  sim.onBegin = ({ url: its }) => {
    if (its.endsWith('/p8001')) before = seen.joined;
  };
  sim.start();
  assert.ok(await sim.until(() => before > 0, 2 * HOUR));
  assert.ok(before < 4000, `${before} parts were joined before`);
});

test('a crash in the middle of joining many small sets changes neither their order nor their number', async () => {
  const sets = 3000;
  prepare([{ pid: 1, sets }]);
  const seen = watchParts();
  sim.start();
  assert.ok(await sim.until(() => seen.joined > 0, 2 * HOUR));
  await sim.crash();
  assert.ok(Number(sim.bench.value('SELECT count(*) FROM qdb WHERE slot = 12')) > 0, 'some wait still');
  sim.start();
  assert.ok(await sim.until(() => fetched().length === sets, HOUR));
  assert.deepEqual(
    fetched(),
    Array.from({ length: sets }, (_, i) => `p${i + 1}`),
  );
});

test('many urls submitted again at once, for which other hours hold, are looked at a few at a time and fetched in their order', async () => {
  const sets = 2000;
  prepare([{ pid: 1, sets }]);
  sim.start();
  await sim.pass(MINUTE);
  const { slots } = sim.bench.store;
  const read: number[] = [];
  const resubmitted = slots.resubmitted.bind(slots);
  slots.resubmitted = (afterPsetid, limit) => {
    const found = resubmitted(afterPsetid, limit);
    read.push(found.length);
    return found;
  };
  const names = Array.from({ length: sets }, (_, i) => `p${i + 1}`);
  await sim.send(
    1,
    names.toReversed().map(name => url(name)),
  );
  assert.ok(await sim.until(() => fetched().length === sets, HOUR / 2));
  assert.ok(Math.max(...read) < 500 && read.length < 50, String(read));
  assert.deepEqual(fetched(), names);
});
