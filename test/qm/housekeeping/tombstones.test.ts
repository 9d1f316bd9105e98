import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Chore } from '../../../src/qm/housekeeping.js';
import { tombstones } from '../../../src/qm/housekeeping/tombstones.js';
import { Bench } from '../support.js';

const DAY_MS = 86_400_000;
const ROW = { pid: 7, mimetype: 'a/b' };

describe('tombstones', () => {
  let bench: Bench;
  let chore: Chore;
  beforeEach(() => {
    bench = new Bench();
    bench.db.pragma('synchronous = OFF');
    bench.clock.advance(1000 * DAY_MS);
    chore = tombstones(bench.store, bench.clock, 90 * DAY_MS);
  });
  afterEach(() => bench.close());

  const nowS = () => Math.floor(bench.clock.nowMs() / 1000);
  const bury = (seq: number) =>
    bench.store.deletions.bury({ seq, id: 1, ...ROW, curl: 'c', burl: null, deleted_time: nowS(), moved: 0 });
  const kept = () => bench.all<{ seq: number }>('SELECT seq FROM tombstone ORDER BY seq').map(row => row.seq);
  /** Lets days pass, with the chore running whenever it wants to, an hour later at the most. */
  function pass(days: number): void {
    const endMs = bench.clock.monotonicMs() + days * DAY_MS;
    while (bench.clock.monotonicMs() < endMs) bench.clock.advance(Math.max(chore.run(), DAY_MS / 24));
  }

  it('are forgotten after their time', () => {
    bury(1);
    pass(50);
    bury(2);
    pass(41);
    assert.deepEqual(kept(), [2]);
  });

  it('go together with the old paths of their time', () => {
    const leave = (seq: number) =>
      bench.store.deletions.leave({ seq, ...ROW, machineid: 'm', fileid: 'f', left_time: nowS() });
    bury(1);
    leave(2);
    pass(50);
    leave(3);
    pass(41);
    assert.deepEqual([kept(), bench.all('SELECT seq FROM oldpath')], [[], [{ seq: 3 }]]);
    assert.equal(bench.value("SELECT value FROM counter WHERE name = 'purged'"), 2);
  });

  it('made while the clock was ahead are kept from the moment on that it was set right, and hold up no other', () => {
    pass(1);
    const rightMs = bench.clock.nowMs();
    bench.clock.jumpTo(rightMs + 400 * DAY_MS);
    pass(1);
    for (let seq = 1; seq <= 2500; seq++) bury(seq);
    bench.clock.jumpTo(rightMs + DAY_MS);
    pass(1);
    bury(3000);
    pass(88);
    assert.equal(kept().length, 2501);
    pass(2);
    assert.deepEqual(kept(), [3000]);
    pass(1);
    assert.deepEqual(kept(), []);
  });

  it('made while it was ahead are found after a start, too', () => {
    bench.clock.jumpTo(bench.clock.nowMs() + 400 * DAY_MS);
    bury(1);
    bench.clock.jumpTo(bench.clock.nowMs() - 400 * DAY_MS);
    chore = tombstones(bench.store, bench.clock, 90 * DAY_MS);
    pass(91);
    assert.deepEqual(kept(), []);
  });
});
