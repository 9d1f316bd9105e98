import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock, within } from '../../src/lib/clock.js';
import { ManualClock } from '../support/manual-clock.js';

test('a manual clock stands still until told', () => {
  const clock = new ManualClock(1000);
  let fired = 0;
  clock.after(1, () => fired++);
  assert.deepEqual([clock.nowMs(), clock.monotonicMs(), fired], [1000, 0, 0]);
  clock.advance(1);
  assert.deepEqual([clock.nowMs(), clock.monotonicMs(), fired], [1001, 1, 1]);
});

test('timers fire in the order of their time, each seeing the clock at its own time', () => {
  const clock = new ManualClock(0);
  const seen: [string, number, number][] = [];
  const note = (name: string) => () => void seen.push([name, clock.nowMs(), clock.monotonicMs()]);
  clock.after(30, note('third'));
  clock.after(10, note('first'));
  clock.after(20, note('second'));
  clock.advance(100);
  assert.deepEqual(seen, [
    ['first', 10, 10],
    ['second', 20, 20],
    ['third', 30, 30],
  ]);
  assert.equal(clock.monotonicMs(), 100);
});

test('a timer set by a timer fires in the same advance when it is due', () => {
  const clock = new ManualClock(0);
  const seen: number[] = [];
  const again = () => {
    seen.push(clock.monotonicMs());
    if (seen.length < 5) clock.after(10, again);
  };
  clock.after(10, again);
  clock.advance(35);
  assert.deepEqual(seen, [10, 20, 30]);
  clock.advance(100);
  assert.deepEqual(seen, [10, 20, 30, 40, 50]);
});

test('a cancelled timer does not fire, not even when a timer due before cancels it', () => {
  const clock = new ManualClock(0);
  let fired = 0;
  const cancel = clock.after(10, () => fired++);
  clock.after(10, () => fired++);
  clock.after(5, cancel);
  clock.advance(100);
  assert.equal(fired, 1);
});

test('a jump of the wall clock moves neither timers nor the monotonic clock', () => {
  const clock = new ManualClock(1_000_000);
  let fired = 0;
  clock.after(10, () => fired++);
  clock.jumpTo(0);
  assert.deepEqual([clock.nowMs(), clock.monotonicMs(), fired], [0, 0, 0]);
  clock.advance(10);
  assert.deepEqual([clock.nowMs(), clock.monotonicMs(), fired], [10, 10, 1]);
});

test('the machine’s clock is in milliseconds, fires once, and cancels', async () => {
  assert.ok(Math.abs(systemClock.nowMs() - Date.now()) < 60_000);
  const before = systemClock.monotonicMs();
  let cancelled = 0;
  systemClock.after(1, () => cancelled++)();
  // The clock's own timers do not keep a process alive; this one does meanwhile.
  const alive = setTimeout(() => undefined, 60_000);
  await new Promise<void>(resolve => void systemClock.after(5, resolve));
  clearTimeout(alive);
  assert.equal(cancelled, 0);
  assert.ok(systemClock.monotonicMs() > before);
});

test('who waits within a time has the value, the failure, or undefined when it is over, and leaves no timer', async () => {
  const clock = new ManualClock(0);
  assert.equal(await within(clock, Promise.resolve(7), 10), 7);
  await assert.rejects(within(clock, Promise.reject(new Error('wrong')), 10), /wrong/);
  assert.equal(clock.nextMs(), undefined);
  let tell: (value: number) => void = () => undefined;
  const slow = within(clock, new Promise<number>(resolve => (tell = resolve)), 10);
  clock.advance(10);
  assert.equal(await slow, undefined);
  tell(7);
  assert.equal(clock.nextMs(), undefined);
});
