import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPEN_GATE } from '../../src/daemon/kept.js';
import { silentLog } from '../../src/lib/log.js';
import { controlsOf } from '../../src/qm/controls.js';
import { Bench } from './support.js';

test('a control that finds the disk full says that nothing is changed, and what to do', () => {
  const bench = new Bench();
  try {
    bench.provider(7);
    // The change needs more pages than the file may have: SQLite says what it says of a full disk.
    bench.db.exec(`CREATE TRIGGER larger AFTER UPDATE OF paused ON pidb
      BEGIN INSERT INTO freed(machineid, fileid) VALUES ('m', hex(zeroblob(1000000))); END`);
    bench.db.pragma(`max_page_count = ${Number(bench.db.pragma('page_count', { simple: true })) + 8}`);
    const untold = () => assert.fail('nothing is changed');
    const dispatcher = {
      fetching: untold,
      failures: untold,
      retrying: untold,
      waiting: untold,
      delayed: untold,
      wholeDueAtMs: null,
      reload: untold,
      forgetDelays: untold,
    };
    const { pause } = controlsOf(bench.store, dispatcher, silentLog, bench.clock, OPEN_GATE);
    assert.throws(
      () => pause?.([]),
      /database or disk is full: nothing is changed; free some room on that disk and say it again$/,
    );
    assert.equal(bench.value('SELECT count(*) FROM pidb WHERE paused'), 0);
  } finally {
    bench.close();
  }
});

test('a control of all is done for each that stays, and names those that are moved to another home', () => {
  const bench = new Bench();
  try {
    for (const pid of [7, 8, 9]) bench.provider(pid);
    bench.store.transaction(() => bench.store.moving.leave(8));
    const reloaded: (number | undefined)[] = [];
    const dispatcher = {
      fetching: () => [],
      failures: () => [],
      retrying: () => [],
      waiting: () => [],
      delayed: () => [],
      wholeDueAtMs: null,
      reload: (pid?: number) => void reloaded.push(pid),
      forgetDelays: () => undefined,
    };
    const controls = controlsOf(bench.store, dispatcher, silentLog, bench.clock, OPEN_GATE);
    const paused = () => bench.db.prepare('SELECT pid FROM pidb WHERE paused ORDER BY pid').pluck().all();
    assert.deepEqual(controls['pause']?.([]), { providers: 2, changed: 2, moving: [8] });
    assert.deepEqual(paused(), [7, 9]);
    assert.deepEqual(controls['want-full']?.([]), { providers: 2, changed: 2, moving: [8] });
    bench.store.transaction(() => bench.store.moving.settle(8));
    assert.deepEqual(controls['pause']?.([]), { providers: 3, changed: 1 });
    assert.deepEqual(paused(), [7, 8, 9]);
    assert.equal(reloaded.length, 3);
  } finally {
    bench.close();
  }
});
