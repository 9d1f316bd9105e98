import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LaneTable } from '../../../src/qm/schedule/lanes.js';
import { WaitingLine } from '../../../src/qm/schedule/waiting.js';
import { amount } from '../../support/long.js';

test('a higher priority is first, among equals who waits longest, and age counts', () => {
  const line = new WaitingLine(1000);
  line.add(1, 0, 0);
  line.add(2, 1, 100);
  line.add(3, 1, 50);
  line.add(4, 2, 900);
  assert.deepEqual(line.first(900)?.pid, 4);
  line.remove(4, 2);
  assert.equal(line.first(900)?.pid, 3);
  assert.deepEqual(line.first(1000), { pid: 1, priority: 1, sinceMs: 0 });
  line.add(1, 0, 1000);
  assert.equal(line.first(1000)?.pid, 1, 'who waits already is not put back');
  assert.equal(line.above(0, 900), 2);
  assert.equal(line.above(1, 900), 0);
  assert.equal(line.above(1, 2000), 2, 'by age one of each line');
  assert.equal(line.size, 3);
});

test('who has waited so long that he counts more goes before a higher priority that has not', () => {
  const line = new WaitingLine(1000);
  line.add(1, 0, 0);
  line.add(2, 1, 900);
  assert.equal(line.first(999)?.pid, 2);
  line.remove(2, 1);
  line.add(2, 1, 1900);
  assert.equal(line.first(2000)?.pid, 1);
});

test('nobody starves, whatever comes with whatever priority', () => {
  const provider = fc.record({
    priority: fc.constantFrom<0 | 1 | 2>(0, 1, 2, 2, 2),
    parallel: fc.constantFrom(1, 1, 3),
    urls: fc.integer({ min: 1, max: 200 }),
    atMs: fc.nat(20_000),
  });
  const AGEING = 1000;
  fc.assert(
    fc.property(
      fc.array(provider, { minLength: 2, maxLength: 25 }),
      fc.integer({ min: 1, max: 4 }),
      fc.constantFrom(1, 4, 8),
      (providers, slots, window) => {
        const left = providers.map(({ urls }) => urls);
        const rules = {
          overbookPercent: 0,
          turn: 8,
          sharedWindow: 0,
          ageingMs: AGEING,
          perHost: Infinity,
          perGroup: 2,
        };
        const table = new LaneTable(rules, (pid, most) => Math.min(most, left[pid] ?? 0));
        table.setWorker(1, slots);
        const servedMs = providers.map(({ atMs }) => atMs);
        const flying: { lane: ReturnType<LaneTable['recalls']>[number]; pid: number }[] = [];
        for (let nowMs = 0; left.some(urls => urls > 0) || flying.length > 0; nowMs += 10) {
          assert.ok(nowMs < 2_000_000);
          table.wake(nowMs);
          providers.forEach(({ priority, parallel, atMs }, pid) => {
            if (atMs !== nowMs - (nowMs % 10) && Math.ceil(atMs / 10) * 10 !== nowMs) return;
            table.setProvider({ pid, priority, parallel, window });
            table.setHasUrls(pid, true);
          });
          for (let grant = table.next(); grant !== undefined; grant = table.next()) {
            const { pid } = grant.lane;
            const count = Math.min(left[pid] ?? 0, grant.room);
            left[pid] = (left[pid] ?? 0) - count;
            for (let i = 0; i < count; i++) flying.push({ lane: grant.lane, pid });
            table.sent(grant, count, (left[pid] ?? 0) > 0);
          }
          for (const lane of table.recalls()) {
            const begun = flying.findIndex(one => one.lane === lane);
            for (let i = flying.length - 1; i > begun; i--) {
              if (flying[i]?.lane !== lane) continue;
              flying.splice(i, 1);
              left[lane.pid] = (left[lane.pid] ?? 0) + 1;
              table.finished(lane);
              table.setHasUrls(lane.pid, true);
            }
          }
          assert.ok(table.lanes <= slots);
          // Every lane does one url in 10 ms.
          for (const lane of new Set(flying.map(one => one.lane))) {
            const index = flying.findIndex(one => one.lane === lane);
            flying.splice(index, 1);
            servedMs[lane.pid] = nowMs;
            table.finished(lane);
          }
          providers.forEach(({ atMs }, pid) => {
            if ((left[pid] ?? 0) === 0 || atMs > nowMs) return;
            const waitedMs = nowMs - (servedMs[pid] ?? 0);
            // As old as the highest after two ageings; then one turn of each of the others at most.
            const mostMs = 2 * AGEING + providers.length * 3 * (8 + window) * 10;
            assert.ok(waitedMs <= mostMs, `provider ${pid} waits for ${waitedMs} ms`);
          });
        }
      },
    ),
    { numRuns: amount(20, 60) },
  );
});
