import assert from 'node:assert/strict';
import { it } from 'node:test';
import { trustKept } from '../../src/fe/trust.js';
import { ManualClock } from '../support/manual-clock.js';

it('certificates of connections to UNSes are read again after a second, and after a failure at once', () => {
  const clock = new ManualClock();
  let reads = 0;
  let isBad = false;
  const trust = trustKept(() => {
    reads++;
    if (isBad) throw new Error('no certificate');
    return {};
  }, clock);
  const first = trust();
  assert.ok(first.secureContext);
  clock.advance(999);
  assert.equal(trust(), first);
  assert.equal(reads, 1);
  clock.advance(1);
  isBad = true;
  assert.throws(trust, /no certificate/);
  isBad = false;
  assert.notEqual(trust(), first);
  assert.equal(reads, 3);
});
