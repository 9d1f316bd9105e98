import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { Grant, Lane, LaneProvider, LaneRules } from '../../../src/qm/schedule/lane.js';
import { LaneTable } from '../../../src/qm/schedule/lanes.js';

const rules: LaneRules = {
  overbookPercent: 0,
  turn: 8,
  sharedWindow: 0,
  ageingMs: 60_000,
  perHost: Infinity,
  perGroup: 2,
};
let table: LaneTable;
/** Urls left, by provider. */
let urls: Map<number, number>;
let onTheWay: Lane[];

beforeEach(() => {
  table = new LaneTable(rules, waiting);
  urls = new Map();
  onTheWay = [];
});

const waiting = (pid: number, most: number) => Math.min(most, urls.get(pid) ?? 0);

function provider(pid: number, count: number, more: Partial<LaneProvider> = {}): void {
  table.setProvider({ pid, priority: 1, parallel: 1, window: 4, ...more });
  urls.set(pid, count);
  table.setHasUrls(pid, count > 0);
}

/** Sends all that may be sent. @returns lane names, once per url */
function send(): string[] {
  const sent: string[] = [];
  for (let grant = table.next(); grant !== undefined; grant = table.next()) sent.push(...answer(grant));
  return sent;
}

function answer(grant: Grant): string[] {
  const left = urls.get(grant.lane.pid) ?? 0;
  const count = Math.min(left, grant.room);
  urls.set(grant.lane.pid, left - count);
  table.sent(grant, count, count === grant.room && left > count);
  for (let i = 0; i < count; i++) onTheWay.push(grant.lane);
  return Array<string>(count).fill(grant.lane.name);
}

/** The oldest url on its way in the provider's lanes is answered. */
function finish(pid: number, count = 1): void {
  for (let i = 0; i < count; i++) {
    const index = onTheWay.findIndex(lane => lane.pid === pid);
    const [lane] = onTheWay.splice(index, 1);
    assert.ok(index >= 0 && lane);
    table.finished(lane);
  }
}

test('a lane beyond the slots has one url on its way until a slot is its own', () => {
  table = new LaneTable({ ...rules, overbookPercent: 100 }, waiting);
  table.setWorker(1, 1);
  provider(7, 6, { priority: 2 });
  provider(8, 6);
  assert.deepEqual(send(), ['7', '7', '7', '7', '8']);
  finish(7, 2);
  assert.deepEqual(send(), ['7', '7'], 'the higher priority goes on');
  finish(8);
  assert.deepEqual(send(), ['8']);
  finish(7, 4);
  assert.deepEqual(send(), ['8', '8', '8']);
  table.setWorker(1, 2);
  provider(9, 5);
  assert.deepEqual(send(), ['9', '9', '9', '9'], 'there are more slots');
});

test('nothing is sent without a Bot Manager; with one, up to the window', () => {
  provider(7, 10);
  assert.deepEqual(send(), []);
  table.setWorker(1, 1);
  assert.deepEqual(send(), ['7', '7', '7', '7']);
  finish(7, 1);
  assert.deepEqual(send(), []);
  finish(7, 1);
  assert.deepEqual(send(), ['7', '7']);
});

test('one lane a provider, more if it is parallel, and no more lanes than slots', () => {
  provider(7, 100);
  provider(8, 100, { parallel: 2 });
  table.setWorker(1, 10);
  assert.deepEqual([...new Set(send())], ['7', '8', '8.1']);
  provider(9, 100);
  provider(10, 100);
  table.setWorker(1, 4);
  assert.deepEqual([...new Set(send())], ['9']);
  assert.equal(table.lanes, 4);
  assert.equal(table.counts.providers_waiting, 1);
});

test('slots are overbooked as configured', () => {
  table = new LaneTable({ ...rules, overbookPercent: 25 }, waiting);
  table.setWorker(1, 4);
  for (let pid = 1; pid <= 9; pid++) provider(pid, 1);
  assert.equal(send().length, 5);
});

test('a higher priority goes first; among equals the one that waited longest', () => {
  table.setWorker(1, 1);
  provider(1, 1, { priority: 0 });
  provider(2, 1);
  provider(3, 1);
  provider(4, 1, { priority: 2 });
  const first: string[] = [];
  for (const pid of [4, 2, 3, 1]) {
    first.push(...send());
    finish(pid);
  }
  assert.deepEqual(first, ['4', '2', '3', '1']);
});

test('a provider being fetched from yields to a higher priority at once', () => {
  table.setWorker(1, 1);
  provider(1, 100);
  send();
  provider(2, 2, { priority: 2 });
  finish(1, 3);
  assert.deepEqual(send(), []);
  finish(1, 1);
  assert.deepEqual(send(), ['2', '2']);
  finish(2, 2);
  assert.deepEqual(send(), ['1', '1', '1', '1']);
});

test('among equals a slot changes hands when the turn is over; alone it is kept', () => {
  table.setWorker(1, 1);
  provider(1, 1000);
  let sent = 0;
  for (let i = 0; i < 10; i++) {
    sent += send().length;
    finish(1, 4);
  }
  assert.equal(sent, 40);
  provider(2, 1000);
  const seen: string[] = [];
  for (let i = 0; i < 12; i++) {
    const now = send();
    seen.push(...now);
    for (const name of now) finish(Number(name));
  }
  assert.ok(seen.includes('1') && seen.includes('2'));
  const longest = Math.max(
    ...seen
      .join('')
      .match(/1+|2+/g)!
      .map(run => run.length),
  );
  assert.ok(longest <= 12, `a turn of ${longest} urls`);
});

test('lanes of a Bot Manager that is gone are opened at another', () => {
  table.setWorker(1, 4);
  provider(7, 8);
  send();
  const [lane] = onTheWay;
  table.removeWorker(1);
  assert.ok(lane);
  table.finished(lane);
  table.setHasUrls(7, true);
  assert.deepEqual(send(), []);
  table.setWorker(2, 4);
  assert.deepEqual(send(), ['7', '7', '7', '7']);
  assert.equal(onTheWay.at(-1)?.worker, 2);
});

test('lanes go where most room is', () => {
  table.setWorker(1, 2);
  table.setWorker(2, 4);
  for (let pid = 1; pid <= 6; pid++) provider(pid, 1);
  send();
  assert.deepEqual(
    onTheWay.map(lane => lane.worker).sort((a, b) => a - b),
    [1, 1, 2, 2, 2, 2],
  );
});

test('providers that come one at a time go to the Bot Managers by turns', () => {
  table.setWorker(1, 2);
  table.setWorker(2, 4);
  const workers: (number | undefined)[] = [];
  for (let pid = 1; pid <= 6; pid++) {
    provider(pid, 1);
    send();
    workers.push(onTheWay.at(-1)?.worker);
    finish(pid);
  }
  assert.deepEqual(workers, [1, 2, 1, 2, 1, 2]);
});

test('a delayed provider gets nothing until its time, then one url until it is released', () => {
  table.setWorker(1, 4);
  provider(7, 100);
  send();
  table.delay(7, 1000);
  table.setProbing(7, true);
  finish(7, 4);
  assert.deepEqual(send(), []);
  assert.equal(table.nextWakeMs(), 1000);
  table.wake(999);
  assert.deepEqual(send(), []);
  table.wake(1000);
  assert.deepEqual(send(), ['7']);
  assert.deepEqual(send(), []);
  finish(7);
  assert.deepEqual(send(), ['7']);
  table.delay(7, 0);
  table.setProbing(7, false);
  assert.deepEqual(send(), ['7', '7', '7']);
});

test('a stopped provider gets nothing until it may go on', () => {
  table.setWorker(1, 4);
  provider(7, 3);
  table.setHindered(7, 'stopped', true);
  assert.deepEqual(send(), []);
  table.setHindered(7, 'stopped', false);
  assert.deepEqual(send(), ['7', '7', '7']);
});

test('a Bot Manager whose slots go to nothing gets no more urls', () => {
  table.setWorker(1, 1);
  provider(7, 100);
  send();
  table.setWorker(1, 0);
  finish(7, 4);
  assert.deepEqual(send(), []);
  table.setWorker(1, 1);
  assert.equal(send().length, 4);
});

test('for a higher priority lanes of the lowest are recalled, one for each that waits', () => {
  table.setWorker(1, 3);
  provider(1, 100);
  provider(2, 100, { priority: 0 });
  provider(3, 100, { priority: 0 });
  send();
  assert.deepEqual(table.recalls(), []);
  provider(4, 100, { priority: 2 });
  assert.deepEqual(send(), []);
  finish(3);
  assert.deepEqual(
    table.recalls().map(lane => lane.name),
    ['2'],
    'the first that was opened, whoever has had more',
  );
  assert.deepEqual(table.recalls(), [], 'each is named once');
  provider(5, 100, { priority: 2 });
  assert.deepEqual(
    table.recalls().map(lane => lane.name),
    ['3'],
  );
  finish(2, 4);
  assert.deepEqual([...new Set(send())], ['4']);
  provider(6, 100, { priority: 2 });
  assert.deepEqual(
    table.recalls().map(lane => lane.name),
    ['1'],
  );
});

test('an equal that waits does not make a lane be recalled, one that waited long enough does', () => {
  table.setWorker(1, 1);
  provider(1, 100);
  send();
  provider(2, 100);
  table.wake(rules.ageingMs - 1);
  assert.deepEqual(table.recalls(), []);
  table.wake(rules.ageingMs);
  assert.deepEqual(
    table.recalls().map(lane => lane.name),
    ['1'],
  );
  finish(1, 4);
  assert.deepEqual([...new Set(send())], ['2']);
  // The provider keeps the priority that it had when its turn came: one that waited less does not take the slot from it.
  provider(3, 1, { priority: 2 });
  table.setHasUrls(3, true);
  assert.deepEqual(table.recalls(), []);
});

test('whoever is hindered gets its lanes recalled, and goes on when nothing hinders it any more', () => {
  table.setWorker(1, 4);
  provider(7, 100, { parallel: 2 });
  send();
  table.setHindered(7, 'closed', true);
  table.setHindered(7, 'joining', true);
  assert.deepEqual(
    table.recalls().map(lane => lane.name),
    ['7', '7.1'],
  );
  finish(7, 8);
  table.setHindered(7, 'closed', false);
  assert.deepEqual(send(), []);
  table.setHindered(7, 'joining', false);
  assert.deepEqual([...new Set(send())], ['7', '7.1']);
});

test('whose bandwidth is limited has a turn of one url', () => {
  table.setWorker(1, 1);
  provider(1, 100, { window: 1 });
  provider(2, 100, { window: 1 });
  const seen: string[] = [];
  for (let i = 0; i < 4; i++) {
    const now = send();
    seen.push(...now);
    for (const name of now) finish(Number(name));
  }
  assert.deepEqual(seen, ['1', '2', '1', '2']);
});

test('the fewer lanes a Bot Manager has, the more urls are on their way in each', () => {
  table = new LaneTable({ ...rules, sharedWindow: 12 }, waiting);
  table.setWorker(1, 8);
  provider(1, 100);
  provider(2, 100, { window: 1 });
  assert.deepEqual(count(send()), { 1: 12, 2: 1 }, 'whose window is one has no other');
  finish(2);
  provider(2, 0);
  provider(3, 100);
  assert.deepEqual(count(send()), { 3: 6 });
  finish(1, 9);
  assert.deepEqual(count(send()), { 1: 3 }, 'as many as the other');
  for (const pid of [4, 5, 6]) provider(pid, 100);
  assert.deepEqual(count(send()), { 4: 4, 5: 4, 6: 4 }, 'never fewer than a window');
});

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

test('who yields gets a window, and the next when all of that is back', () => {
  table = new LaneTable({ ...rules, turn: 100, sharedWindow: 16 }, waiting);
  table.setWorker(1, 1);
  provider(7, 100);
  assert.equal(send().length, 16, 'what lanes share');
  table.setYielding(7, true);
  finish(7, 15);
  assert.deepEqual(send(), []);
  finish(7);
  assert.equal(send().length, 4);
  finish(7, 3);
  assert.deepEqual(send(), []);
  table.setYielding(7, false);
  assert.equal(send().length, 15, 'at once');
});

test('who rests is sent nothing until it has rested, and leaves its lane to others', () => {
  table.setWorker(1, 1);
  provider(7, 8);
  send();
  provider(8, 8);
  finish(7, 4);
  table.rest(7, 20);
  assert.deepEqual(send(), ['8', '8', '8', '8']);
  assert.equal(table.nextWakeMs(), 20);
  table.wake(19);
  finish(8, 4);
  assert.deepEqual(send(), ['8', '8', '8', '8']);
  finish(8, 4);
  assert.deepEqual(send(), []);
  table.wake(20);
  assert.deepEqual(send(), ['7', '7', '7', '7']);
});

test('a rest is no delay: neither ends the other', () => {
  table.setWorker(1, 1);
  provider(7, 8);
  table.delay(7, 30);
  table.rest(7, 20);
  table.delay(7, 10);
  table.wake(10);
  assert.deepEqual(send(), []);
  table.delay(7, 30);
  table.wake(20);
  assert.deepEqual(send(), []);
  assert.equal(table.counts.providers_delayed, 1, 'a rest is not counted');
  table.wake(30);
  assert.deepEqual(send(), ['7', '7', '7', '7']);
});

test('what waits for a parallel provider is shared by the lanes it may have', () => {
  table.setWorker(1, 10);
  provider(7, 5, { parallel: 3 });
  assert.deepEqual(send(), ['7', '7', '7.1', '7.2']);
  finish(7);
  assert.deepEqual(send(), [], 'one is on its way in each lane');
  finish(7);
  assert.deepEqual(send(), ['7']);
});
