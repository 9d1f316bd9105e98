import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { DutyCycle } from '../../src/lib/duty-cycle.js';
import { ManualClock } from '../support/manual-clock.js';

let clock: ManualClock;
let duty: DutyCycle<string>;
beforeEach(() => {
  clock = new ManualClock();
  duty = new DutyCycle(clock);
});

/** How long the large one waits after so much work. */
async function restMs(workedMs: number): Promise<number> {
  const rest = { isOver: false };
  void duty.rest('large', workedMs).then(() => (rest.isOver = true));
  for (let waitedMs = 0; ; waitedMs++) {
    await new Promise<void>(resolve => void setImmediate(resolve));
    if (rest.isOver) return waitedMs;
    clock.advance(1);
  }
}

test('alone nobody rests, whatever it does', async () => {
  assert.equal(await restMs(30), 0);
  for (let n = 0; n < 5; n++) {
    duty.note('large');
    assert.equal(await restMs(30), 0);
  }
});

test('whoever came meanwhile has his turn of the event loop before large work goes on', async () => {
  for (const who of ['large', 'small']) {
    duty.note(who);
    const order: string[] = [];
    const turn = new Promise<void>(resolve => void setImmediate(() => resolve(void order.push('others'))));
    await duty.rest('large', 0.5);
    order.push('large');
    await turn;
    assert.deepEqual(order, ['others', 'large']);
  }
});

test('beside others it rests twice as long as it worked', async () => {
  duty.note('small');
  duty.note('large');
  assert.equal(await restMs(5), 10);
  duty.note('large');
  assert.equal(await restMs(17), 34);
});

test('others that had something to do a second ago are no reason any more', async () => {
  duty.note('small');
  clock.advance(999);
  assert.equal(await restMs(5), 10);
  assert.equal(await restMs(5), 0);
});

test('short spells of work are saved up for a rest that a timer can keep', async () => {
  duty.note('small');
  assert.deepEqual([await restMs(0.4), await restMs(0.4), await restMs(0.2)], [0, 0, 2]);
});

test('no rest is longer than a moment', async () => {
  duty.note('small');
  assert.equal(await restMs(10_000), 50);
});

test('it is known for a second that large work has made room', async () => {
  duty.note('small');
  assert.equal(duty.isYielding, false, 'nobody had to');
  await restMs(5);
  assert.equal(duty.isYielding, true);
  clock.advance(989);
  assert.equal(duty.isYielding, true);
  clock.advance(1);
  assert.equal(duty.isYielding, false);
  await restMs(5);
  assert.equal(duty.isYielding, false, 'the others have gone');
});
