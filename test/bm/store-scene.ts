/** Stores of a Bot Manager in folders of their own, and files in them. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileIdOf } from '../../src/db/names/naming.js';
import { Store, type StoreOptions } from '../../src/bm/store.js';
import { silentLog } from '../../src/lib/log.js';
import { ManualClock } from '../support/manual-clock.js';
import { atEnd } from '../support/at-end.js';

export function newDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-store-'));
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A store of machine m1, with its clock and what it logs as warnings and errors. */
export function open(dir: string, more: Partial<StoreOptions> = {}) {
  const clock = new ManualClock();
  const events: string[] = [];
  const note = (event: string) => void events.push(event);
  const store = new Store({
    dir,
    machineId: 'm1',
    graceMs: 60_000,
    blockNames: 4,
    minFree: { percent: 5, bytes: 2 ** 40, whose: 'bm' },
    attemptMs: 60_000,
    clock,
    log: { ...silentLog, warn: note, error: note },
    fail: error => assert.fail(String(error)),
    ...more,
  });
  return { store, clock, events };
}

/** A new file in the store, as a robot leaves it. */
export function write(store: Store, content = 'content'): { path: string; fileId: string } {
  const name = store.take();
  assert.ok(name);
  const path = store.pathOf(name);
  writeFileSync(path, content);
  return { path, fileId: fileIdOf(name) };
}
