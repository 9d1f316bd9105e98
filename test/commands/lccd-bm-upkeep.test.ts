import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { FetchOk } from '../../src/wire/fetch.js';
import { BotManagerHome, contentOf, md5 } from '../support/bot-manager.js';

let bm: BotManagerHome;
beforeEach(async () => void (bm = await BotManagerHome.make()));
afterEach(() => bm.remove());

describe('lccd-bm looks after what is stored', () => {
  const check = (fileId: string, content: string, len = content.length) =>
    bm.source.upkeep({ kind: 'check', machineId: 'm1', fileId, md5: md5(content), len });
  const statuses = (results: readonly ({ status: string } | undefined)[]) =>
    results.map(each => each?.status);

  it('reads a file again and says whether it is still that content', async () => {
    bm.startManager();
    bm.startRobot('r', 2);
    await bm.source.slots(2);
    const results = await Promise.all(
      ['/a', '/b', '/c', '/d'].map(path => bm.source.fetch({ lane: path, url: bm.site.urlOf(path) })),
    );
    const [a, b, c, d] = results.map(result => (result?.status === 'ok' ? result : assert.fail()));
    assert.ok(a && b && c && d);
    rmSync(bm.fileOf(b));
    writeFileSync(bm.fileOf(c), contentOf('/C'));
    writeFileSync(bm.fileOf(d), '');
    const id = (result: FetchOk) => result.fileId;
    assert.deepEqual(
      statuses(
        await Promise.all([
          check(id(a), contentOf('/a')),
          check(id(b), contentOf('/b')),
          check(id(c), contentOf('/c')),
          check(id(d), contentOf('/d')),
          check('../../etc/passwd', 'x'),
          check('00/00', 'x'),
        ]),
      ),
      ['ok', 'bad', 'bad', 'bad', 'bad', 'bad'],
    );
  });

  it('syncs its store, and nobody else’s', async () => {
    const steps = join(bm.home, 'steps');
    bm.startManager({ LCC_STEP_LOG: steps });
    bm.startRobot('r', 1);
    await bm.source.slots(1);
    const sync = (machineId: string) => bm.source.upkeep({ kind: 'sync', machineId });
    assert.deepEqual(statuses(await Promise.all([sync('m1'), sync('m2'), sync('m1')])), ['ok', 'away', 'ok']);
    assert.equal(readFileSync(steps, 'utf8').match(/bm\.store\.synced/g)?.length, 2);
  });

  it('tells a sync that fails after others went well from one that cannot be made', async () => {
    const bin = join(bm.home, 'path');
    mkdirSync(bin);
    const script = join(bin, 'sync');
    const fails = '#!/bin/sh\necho "sync: error syncing: Input/output error" >&2\nexit 1\n';
    writeFileSync(script, fails, { mode: 0o755 });
    const manager = bm.startManager({ PATH: `${bin}:${process.env['PATH']}` });
    bm.startRobot('r', 1);
    await bm.source.slots(1);
    const sync = () => bm.source.upkeep({ kind: 'sync', machineId: 'm1' });
    const said = [await sync()];
    writeFileSync(script, '#!/bin/sh\nexit 0\n');
    said.push(await sync());
    writeFileSync(script, fails);
    said.push(await sync());
    assert.deepEqual(statuses(said), ['unable', 'ok', 'bad']);
    assert.match(manager.log, /cannot sync the store.*Input\/output error/);
  });
});
