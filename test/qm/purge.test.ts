/** `lccpidb rm --purge`: all that a provider has goes in steps, be it announced or crawled, and then the provider. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { changeProvider, readProvider } from '../../src/db/providers/pidb.js';
import { contentOf, purgeProvider } from '../../src/db/providers/removal.js';
import { silentLog } from '../../src/lib/log.js';
import type { Chore } from '../../src/qm/housekeeping.js';
import { departures } from '../../src/qm/housekeeping/departures.js';
import { Bench, url } from './support.js';

const SLICE = 3;
let bench: Bench;
let chore: Chore;
let over: number[];

function begin(): void {
  const { store, clock } = bench;
  over = [];
  const parts = { store, clock, log: silentLog, sliceUrls: SLICE, onCommit: () => undefined };
  chore = departures({ ...parts, changed: pid => void over.push(pid) });
}

beforeEach(() => {
  bench = new Bench({ sliceUrls: SLICE });
  bench.clock.advance(1_000_000_000_000);
  for (const pid of [1, 2]) bench.provider(pid);
  begin();
});
afterEach(() => bench.close());

const nowS = () => Math.floor(bench.clock.nowMs() / 1000);
const names = (count: number) => Array.from({ length: count }, (_, i) => url(`p${i}`));

/** Provider 1 with pages that its owner announced, that a crawl found, that wait, and one that failed. */
async function fill(): Promise<void> {
  await bench.send(1, names(8));
  for (let i = 0; i < 5; i++) bench.fetch(1, `p${i}`);
  bench.missing(1, 'p5');
  bench.db.exec("UPDATE lccurl SET hops = 1 WHERE curl LIKE '%p4' OR curl LIKE '%p3'");
  await bench.send(2, names(2));
  bench.fetch(2, 'p0');
}

function carryOut(): number {
  let steps = 0;
  while (bench.store.departures.next(nowS()) !== undefined) {
    chore.run();
    assert.ok(++steps < 100, 'it comes to an end');
  }
  return steps;
}

test('announced and crawled pages, what waits and what is remembered go, and the provider; others stay', async () => {
  await fill();
  assert.deepEqual(contentOf(bench.db, 1), { stored: 5, queued: 2 });
  purgeProvider(bench.db, 1, nowS());
  assert.equal(bench.value('SELECT enabled FROM pidb WHERE pid = 1'), 0);
  assert.ok(carryOut() > 2, 'in steps');
  assert.deepEqual(over, [1]);
  for (const table of ['pidb', 'proots', 'pierr', 'failure', 'known', 'lccurl', 'qdb', 'qpsdb'])
    assert.equal(bench.value(`SELECT count(*) FROM ${table} WHERE pid = 1`), 0, table);
  assert.equal(
    bench.value('SELECT count(*) FROM tombstone WHERE pid = 1'),
    5,
    'content users hear of each page',
  );
  assert.deepEqual(contentOf(bench.db, 2), { stored: 1, queued: 1 });
});

test('cut off between two steps it goes on after a restart', async () => {
  await fill();
  purgeProvider(bench.db, 1, nowS());
  chore.run();
  chore.run();
  bench.reopen();
  begin();
  assert.ok(readProvider(bench.db, 1) !== undefined);
  carryOut();
  assert.equal(readProvider(bench.db, 1), undefined);
});

test('one that is enabled meanwhile keeps what is left, and its number', async () => {
  await fill();
  purgeProvider(bench.db, 1, nowS());
  chore.run();
  changeProvider(bench.db, 1, { enabled: true });
  assert.equal(carryOut(), 0);
  assert.equal(readProvider(bench.db, 1)?.leaveat, null);
});

test('of one that registered by itself the number stays', async () => {
  await fill();
  bench.db.exec("UPDATE pidb SET origin = 'rs' WHERE pid = 1");
  purgeProvider(bench.db, 1, nowS());
  carryOut();
  assert.equal(bench.value("SELECT password = '' FROM pidb WHERE pid = 1"), 1);
  assert.deepEqual(contentOf(bench.db, 1), { stored: 0, queued: 0 });
});
