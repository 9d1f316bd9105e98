import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Leftovers } from '../../src/bm/leftovers.js';
import { silentLog } from '../../src/lib/log.js';
import { ManualClock } from '../support/manual-clock.js';
import { until } from '../support/until.js';

const ATTEMPT_MS = 60_000;
const PAUSE_MS = 5;

describe('what robots of runs before have left half-written', () => {
  let dir: string;
  const clock = new ManualClock();
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'lcc-leftovers-'))));
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  function put(name: string): string {
    const file = join(dir, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, 'x');
    return file;
  }
  /** Lets it look through all folders: it asks the disk beside everything else. */
  async function look(): Promise<void> {
    for (let folder = 0; folder < 4; folder++) {
      await until('a timer is set', () => clock.nextMs() !== undefined);
      if ((clock.nextMs() ?? 0) > clock.monotonicMs() + PAUSE_MS) return;
      clock.advance(PAUSE_MS);
    }
  }

  it('is removed when no attempt of then can go on any more; nothing else is touched', async () => {
    const left = ['00/00/00000001.0.k2-Ab_c-1.tmp', '00/0f/00000f00.12.k2-Ab_c-2z.tmp'].map(put);
    const others = [
      '00/00/00000001.0',
      '00/00/notes.tmp',
      '00/00/00000002.0.tmp',
      '00/00000003.0.k2-a-1.tmp',
      'mine/00/00000004.0.k2-a-1.tmp',
    ].map(put);
    const leftovers = new Leftovers({ dir, attemptMs: ATTEMPT_MS, clock, log: silentLog });
    await look();
    const later = put('00/00/00000005.0.k3-a-1.tmp');
    clock.advance(ATTEMPT_MS - 1);
    assert.ok(left.every(file => existsSync(file)));
    clock.advance(1);
    assert.ok(!left.some(file => existsSync(file)));
    for (const file of [...others, later]) assert.ok(existsSync(file), file);
    leftovers.close();
  });

  it('is not waited for, nor in the way, when it is gone before or the store is closed', async () => {
    const [gone, stays] = ['00/00/00000001.0.a-b-1.tmp', '00/00/00000002.0.a-b-2.tmp'].map(put);
    const first = new Leftovers({ dir, attemptMs: ATTEMPT_MS, clock, log: silentLog });
    await look();
    first.close();
    clock.advance(ATTEMPT_MS);
    assert.ok(existsSync(stays ?? ''));
    const second = new Leftovers({ dir, attemptMs: ATTEMPT_MS, clock, log: silentLog });
    await look();
    rmSync(gone ?? '');
    clock.advance(ATTEMPT_MS);
    assert.ok(!existsSync(stays ?? ''));
    second.close();
  });
});
