import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { StoreUpkeep } from '../../src/bm/upkeep.js';
import { silentLog } from '../../src/lib/log.js';

test('a sync(1) that cannot even be started tells of nothing that is lost, one that fails does', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-upkeep-'));
  const upkeep = new StoreUpkeep(dir, silentLog);
  const sync = () => upkeep.answer({ kind: 'sync', id: 1, machineId: 'm1' });
  const path = process.env['PATH'];
  try {
    assert.equal(await sync(), 'ok');
    process.env['PATH'] = join(dir, 'nothing');
    assert.equal(await sync(), 'unable');
    process.env['PATH'] = path;
    assert.equal(await sync(), 'ok');
  } finally {
    process.env['PATH'] = path;
    rmSync(dir, { recursive: true });
  }
  assert.equal(await sync(), 'bad');
});
