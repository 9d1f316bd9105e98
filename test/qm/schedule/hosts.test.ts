import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lane } from '../../../src/qm/schedule/lane.js';
import { LaneTable } from '../../../src/qm/schedule/lanes.js';
import { amount } from '../../support/long.js';

const RULES = {
  overbookPercent: 0,
  turn: 8,
  sharedWindow: 0,
  ageingMs: 1000,
  perHost: 2,
  perGroup: 2,
};

/** A table, what is on its way, and how many urls each provider has left. */
class World {
  readonly table: LaneTable;
  readonly left = new Map<number, number>();
  readonly flying: Lane[] = [];
  constructor(rules: Partial<typeof RULES>, slots: number) {
    this.table = new LaneTable({ ...RULES, ...rules }, (pid, most) =>
      Math.min(most, this.left.get(pid) ?? 0),
    );
    this.table.setWorker(1, slots);
  }

  provider(
    pid: number,
    host: string,
    urls: number,
    more: { priority?: 0 | 1 | 2; parallel?: number } = {},
  ): void {
    this.left.set(pid, urls);
    this.table.setProvider({ pid, host, priority: 1, parallel: 1, window: 4, ...more });
    this.table.setHasUrls(pid, urls > 0);
  }

  /** Sends what may be sent. @returns the providers that got a lane */
  send(): number[] {
    const before = new Set(this.flying);
    for (let grant = this.table.next(); grant !== undefined; grant = this.table.next()) {
      const { lane, room } = grant;
      const left = this.left.get(lane.pid) ?? 0;
      const count = Math.min(left, room);
      this.left.set(lane.pid, left - count);
      for (let i = 0; i < count; i++) this.flying.push(lane);
      this.table.sent(grant, count, left > count);
    }
    return [...new Set(this.flying)].filter(lane => !before.has(lane)).map(({ pid }) => pid);
  }

  /** Every lane is done with one url; what was recalled and not begun comes back first. */
  step(): void {
    for (const lane of this.table.recalls()) {
      const begun = this.flying.indexOf(lane);
      for (let i = this.flying.length - 1; i > begun; i--) if (this.flying[i] === lane) this.back(i);
    }
    for (const lane of new Set(this.flying)) {
      this.flying.splice(this.flying.indexOf(lane), 1);
      this.table.finished(lane);
    }
  }

  back(index: number): void {
    const [lane] = this.flying.splice(index, 1);
    assert.ok(lane);
    this.left.set(lane.pid, (this.left.get(lane.pid) ?? 0) + 1);
    this.table.finished(lane);
    this.table.setHasUrls(lane.pid, true);
  }

  /** Lanes at each host. */
  lanesAt(): Map<string, number> {
    const at = new Map<string, number>();
    for (const { host } of new Set(this.flying)) at.set(host, (at.get(host) ?? 0) + 1);
    return at;
  }
}

test('at one host there are as many lanes as may be, and whoever is behind a full host in the line goes on', () => {
  const world = new World({}, 8);
  for (let pid = 1; pid <= 5; pid++) world.provider(pid, 'http://full', 20);
  world.provider(6, 'http://other', 20);
  world.provider(7, 'https://full', 20);
  assert.deepEqual(world.send(), [1, 2, 6, 7]);
  assert.equal(world.table.counts.providers_waiting, 0);
  assert.equal(world.table.counts.providers_parked, 3);
  assert.equal(world.table.stateOf(3), 'parked');
});

test('the state of a provider: resting, waiting, parked, delayed, hindered or in a lane', () => {
  const world = new World({ perHost: 1 }, 1);
  const { table } = world;
  assert.equal(table.stateOf(1), undefined);
  world.provider(1, 'http://a', 0);
  assert.equal(table.stateOf(1), 'resting');
  world.provider(1, 'http://a', 4);
  world.provider(2, 'http://a', 4);
  assert.deepEqual([table.stateOf(1), table.stateOf(2)], ['waiting', 'parked']);
  assert.deepEqual(world.send(), [1]);
  assert.deepEqual([table.stateOf(1), table.stateOf(2)], ['in-lane', 'parked']);
  table.delay(2, 5000);
  assert.equal(table.stateOf(2), 'delayed');
  table.wake(5000);
  assert.equal(table.stateOf(2), 'parked');
  table.setHindered(2, 'stopped', true);
  assert.equal(table.stateOf(2), 'hindered');
  table.setHindered(2, 'stopped', false);
  assert.equal(table.stateOf(2), 'parked');
  for (let i = 0; i < 4; i++) world.step();
  assert.deepEqual(world.send(), [2]);
  assert.deepEqual([table.stateOf(1), table.stateOf(2)], ['resting', 'in-lane']);
});

test('who waits for a full host has its turn there, longest waiting first', () => {
  const world = new World({ perHost: 1 }, 8);
  for (let pid = 1; pid <= 3; pid++) world.provider(pid, 'http://full', 100);
  const turns: number[] = [];
  for (let i = 0; i < 60; i++) {
    turns.push(...world.send());
    world.step();
  }
  assert.deepEqual(turns.slice(0, 6), [1, 2, 3, 1, 2, 3]);
});

test('a higher priority has a place at its host after one url, not after a turn', () => {
  const world = new World({ perHost: 1, turn: 1000 }, 8);
  world.provider(1, 'http://full', 100, { priority: 0 });
  world.send();
  world.provider(2, 'http://full', 1, { priority: 2 });
  assert.deepEqual(world.send(), []);
  world.step();
  assert.deepEqual(world.send(), [2]);
});

test('one that has a place and no slot gives it to a higher priority of its host', () => {
  const world = new World({ perHost: 1 }, 1);
  world.provider(9, 'http://else', 4, { priority: 2 });
  world.send();
  world.provider(1, 'http://full', 1, { priority: 0 });
  world.provider(2, 'http://full', 1, { priority: 1 });
  for (let i = 0; i < 4; i++) world.step();
  assert.deepEqual(world.send(), [2]);
});

test('a provider that is paused, or removed, leaves its place to the next', () => {
  for (const leave of [
    (world: World) => world.table.setHindered(1, 'stopped', true),
    (world: World) => world.table.delay(1, 1e9),
    (world: World) => world.table.setHasUrls(1, false),
    (world: World) => world.table.removeProvider(1),
  ]) {
    const world = new World({ perHost: 1 }, 0);
    world.provider(1, 'http://full', 1);
    world.provider(2, 'http://full', 1);
    world.table.setWorker(1, 1);
    leave(world);
    assert.deepEqual(world.send(), [2]);
  }
});

test('one with several hosts has a lane at one of them at a time', () => {
  const world = new World({ perHost: 1 }, 8);
  world.provider(1, 'http://a', 4);
  world.send();
  world.left.set(2, 10);
  world.table.setProvider({ pid: 2, priority: 1, parallel: 1, window: 4 });
  world.table.setHasUrls(2, true);
  let grant = world.table.next();
  assert.equal(grant?.lane.pid, 2);
  assert.ok(grant && world.table.mayCarry(grant.lane, 'http://b', true));
  assert.ok(world.table.mayCarry(grant.lane, 'http://b', false));
  assert.equal(world.table.mayCarry(grant.lane, 'http://a', false), false);
  world.table.sent(grant, 2, true);
  assert.equal(world.table.next(), undefined, 'its next url is of a full host');
  world.table.finished(grant.lane);
  world.table.finished(grant.lane);
  assert.equal(world.table.next(), undefined);
  assert.equal(world.table.stateOf(2), 'parked');
  for (let i = 0; i < 10; i++) {
    world.step();
    grant = world.table.next();
    if (grant === undefined) continue;
    assert.deepEqual([grant.lane.pid, grant.lane.host], [2, 'http://a']);
    return;
  }
  assert.fail('it has no turn');
});

test('over any history no host has more lanes than it may, no slot is free while somebody could have it, and nobody starves', () => {
  const provider = fc.record({
    priority: fc.constantFrom<0 | 1 | 2>(0, 1, 1, 2),
    parallel: fc.constantFrom(1, 1, 3),
    host: fc.constantFrom('http://a', 'http://a', 'http://b', 'http://c'),
    urls: fc.integer({ min: 1, max: 60 }),
    atStep: fc.nat(40),
    pausedAt: fc.option(fc.nat(60), { freq: 3 }),
  });
  fc.assert(
    fc.property(
      fc.array(provider, { minLength: 2, maxLength: 20 }),
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 3 }),
      (providers, slots, perHost) => {
        const world = new World({ perHost }, slots);
        const isPaused = (pid: number, step: number) => {
          const { pausedAt } = providers[pid] ?? {};
          return typeof pausedAt === 'number' && step >= pausedAt && step < pausedAt + 20;
        };
        for (let step = 0; step < 3000; step++) {
          world.table.wake(step * 10);
          providers.forEach(({ atStep, host, urls, priority, parallel, pausedAt }, pid) => {
            if (atStep === step) world.provider(pid, host, urls, { priority, parallel });
            if (pausedAt === step || (pausedAt ?? 0) + 20 === step)
              world.table.setHindered(pid, 'stopped', isPaused(pid, step));
          });
          world.send();
          const at = world.lanesAt();
          for (const lanes of at.values()) assert.ok(lanes <= perHost);
          if (world.table.lanes < slots)
            providers.forEach(({ host, atStep, parallel }, pid) => {
              const lanes = new Set(world.flying.filter(lane => lane.pid === pid)).size;
              const couldGo =
                step >= atStep && (world.left.get(pid) ?? 0) > 0 && !isPaused(pid, step) && lanes < parallel;
              if (couldGo) assert.equal(at.get(host), perHost, `${pid} could have a slot in step ${step}`);
            });
          world.step();
          const isDone =
            step > 100 && world.flying.length === 0 && [...world.left.values()].every(n => n === 0);
          if (isDone) return;
        }
        assert.fail('somebody starves');
      },
    ),
    { numRuns: amount(50, 150) },
  );
});
