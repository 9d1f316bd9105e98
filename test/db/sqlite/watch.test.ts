import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { DatabaseWatch } from '../../../src/db/sqlite/watch.js';
import { ManualClock } from '../../support/manual-clock.js';

describe('DatabaseWatch', () => {
  let dir: string;
  let path: string;
  let clock: ManualClock;
  let version = 1;
  let looks = 0;
  let watch: DatabaseWatch;
  const stop = new AbortController();
  const turns = async (count: number) => {
    for (let i = 0; i < count; i++) await new Promise(resolve => setImmediate(resolve));
  };

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'lcc-watch-'));
    path = join(dir, 'lcc.db');
    writeFileSync(path, '');
    clock = new ManualClock();
    version = 1;
    looks = 0;
    watch = new DatabaseWatch(path, () => (looks++, version), clock);
  });
  afterEach(() => {
    watch.close();
    rmSync(dir, { recursive: true });
  });

  it('is back at once when there is news already', async () => {
    await watch.changedSince(0, stop.signal);
    assert.equal(looks, 1);
  });

  it('looks again and again after a write, until the commit can be seen', async () => {
    const changed = watch.changedSince(1, stop.signal);
    appendFileSync(`${path}-wal`, 'x');
    await turns(20);
    clock.advance(5);
    await turns(2);
    version = 2;
    clock.advance(1000);
    await changed;
  });

  it('asks seldom while nothing is written', async () => {
    const changed = watch.changedSince(1, stop.signal);
    for (let s = 0; s < 60; s++) {
      clock.advance(1000);
      await turns(2);
    }
    assert.ok(looks < 40, `${looks}`);
    version = 2;
    clock.advance(2000);
    await changed;
  });

  it('wakes when it shall stop', async () => {
    const stopping = new AbortController();
    const changed = watch.changedSince(1, stopping.signal);
    await turns(2);
    stopping.abort();
    await changed;
  });

  it('does not wait for a database that was replaced', async () => {
    rmSync(path);
    writeFileSync(join(dir, 'other'), '');
    writeFileSync(path, '');
    await assert.rejects(async () => {
      const changed = watch.changedSince(1, stop.signal);
      await changed;
    }, /replaced by another database/);
  });
});
