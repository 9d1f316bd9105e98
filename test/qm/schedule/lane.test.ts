import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enter, newProvider, restate, type Lane } from '../../../src/qm/schedule/lane.js';
import { LaneTable } from '../../../src/qm/schedule/lanes.js';

test('a lane is overbooked, has a slot when one falls free, is recalled and closed, and nothing else', () => {
  const table = new LaneTable(
    {
      overbookPercent: 100,
      turn: 8,
      sharedWindow: 0,
      ageingMs: 60_000,
      perHost: Infinity,
      perGroup: 2,
    },
    () => 0,
  );
  const open = (pid: number): Lane => {
    table.setProvider({ pid, priority: 1, parallel: 1, window: 4 });
    table.setHasUrls(pid, true);
    const grant = table.next();
    assert.equal(grant?.lane.pid, pid);
    table.sent(grant, 1, false);
    return grant.lane;
  };
  table.setWorker(1, 1);
  const [first, second] = [open(1), open(2)];
  assert.deepEqual([first.state, second.state], ['in-slot', 'overbooked']);
  table.finished(first);
  assert.equal(table.next(), undefined);
  assert.deepEqual([first.state, second.state], ['closed', 'in-slot']);
  table.recallAll(2);
  assert.equal(second.state, 'recalled');
  assert.throws(() => enter(second, 'in-slot'), { message: 'lane 2: recalled does not become in-slot' });
  table.removeWorker(1);
  table.recall(second);
  table.finished(second);
  assert.equal(second.state, 'closed', 'what comes too late changes nothing');
});

test('a provider without urls, or one that waits for a time or a place, gets no lane', () => {
  const table = new LaneTable(
    {
      overbookPercent: 0,
      turn: 8,
      sharedWindow: 0,
      ageingMs: 60_000,
      perHost: 1,
      perGroup: 1,
    },
    () => 0,
  );
  table.setWorker(1, 1);
  table.setProvider({ pid: 1, priority: 1, parallel: 1, window: 4 });
  table.setHasUrls(1, true);
  const lane = table.next()?.lane;
  assert.ok(lane);
  const changes = {
    resting: {},
    delayed: { hasUrls: true, isDelayed: true },
    parked: { hasUrls: true, place: { host: 'http://a', priority: 1, sinceMs: 0, parked: true } },
  };
  for (const [state, change] of Object.entries(changes)) {
    const provider = Object.assign(newProvider(2), change);
    restate(provider);
    assert.equal(provider.state, state);
    provider.lanes.set('2', lane);
    assert.throws(() => restate(provider), { message: `provider 2: ${state} does not become in-lane` });
  }
});
