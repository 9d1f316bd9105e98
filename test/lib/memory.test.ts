import assert from 'node:assert/strict';
import { it } from 'node:test';
import { giveBack } from '../../src/lib/memory.js';

it('memory of a buffer is given back, once and again, and what it shares with others is left alone', () => {
  const bytes = Buffer.allocUnsafeSlow(1000);
  giveBack(bytes);
  assert.equal(bytes.length, 0);
  giveBack(bytes);
  const whole = Buffer.alloc(1000, 'x');
  giveBack(whole.subarray(0, 10));
  giveBack(Buffer.from(new SharedArrayBuffer(10)));
  assert.equal(whole.length, 1000);
});
