import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Progress } from '../../src/lib/progress.js';
import { ManualClock } from '../support/manual-clock.js';

function watched() {
  const clock = new ManualClock();
  const seen: string[] = [];
  const progress = new Progress({
    name: 'lcccp',
    unit: 'urls',
    write: text => void seen.push(text),
    nowMs: () => clock.monotonicMs(),
  });
  return { clock, seen, progress };
}

describe('progress', () => {
  it('shows nothing of work that is done at once', () => {
    const { clock, seen, progress } = watched();
    progress.add(1000);
    clock.advance(999);
    progress.add(1000);
    progress.hide();
    assert.deepEqual(seen, []);
  });

  it('shows count and rate after a second, twice a second, and cleans up behind itself', () => {
    const { clock, seen, progress } = watched();
    clock.advance(1000);
    progress.add(12_345);
    clock.advance(499);
    progress.add(1);
    clock.advance(501);
    progress.add(7654);
    progress.hide();
    progress.hide();
    progress.add(1);
    assert.deepEqual(seen, [
      '\r\u001b[Klcccp: 12,345 urls, 12,345/s',
      '\r\u001b[Klcccp: 20,000 urls, 10,000/s',
      '\r\u001b[K',
    ]);
  });

  it('tells the time left where the total is known', () => {
    const { clock, seen, progress } = watched();
    clock.advance(1000);
    progress.add(2500, 1_000_000);
    clock.advance(500);
    progress.add(147_500);
    assert.equal(seen[0], '\r\u001b[Klcccp: 2,500 of 1,000,000 urls, 2,500/s, 6:39 left');
    assert.equal(seen[1], '\r\u001b[Klcccp: 150,000 of 1,000,000 urls, 100,000/s, 0:09 left');
  });
});
