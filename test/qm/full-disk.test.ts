import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog, type LogFields } from '../../src/lib/log.js';
import { fullDiskOf } from '../../src/qm/full-disk.js';
import { ManualClock } from '../support/manual-clock.js';

test('a full disk is told of when it begins, now and then, and when it is over', () => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const note = (event: string, fields?: LogFields) =>
    void lines.push(`${event} ${String(fields?.['failures'])}`);
  let hasRoom = false;
  const disk = fullDiskOf(clock, { ...silentLog, error: note, info: note }, () => hasRoom);
  const failing = (seconds: number) => {
    for (let i = 0; i < seconds; i++, clock.advance(1000)) disk.failed('lcc.db: database or disk is full');
  };
  failing(599);
  assert.deepEqual(lines.splice(0), ['disk full; free space on it 1']);
  failing(301);
  assert.deepEqual(lines.splice(0), ['disk full; free space on it 601']);
  clock.advance(60_000);
  assert.equal(disk.reason, 'lcc.db: database or disk is full', 'nobody tries, and there is no room');
  hasRoom = true;
  failing(3);
  assert.ok(disk.reason);
  clock.advance(10_000);
  assert.equal(disk.reason, undefined);
  assert.deepEqual(lines.splice(0), ['disk has room again 903']);
  failing(1);
  assert.deepEqual(lines, ['disk full; free space on it 1']);
  disk.stop();
});
