import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { keptWork } from '../../src/daemon/open-kept.js';
import { systemClock } from '../../src/lib/clock.js';
import { HeldKeeper } from '../support/held-keeper.js';
import { until } from '../support/until.js';

let home: string;
let keeper: HeldKeeper;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'lcc-kept-'));
  keeper = await new HeldKeeper(home).open();
});
afterEach(async () => {
  await keeper.close();
  rmSync(home, { recursive: true });
});
const configOf = (url: string) =>
  loadConfig({ env: { LCC_HOME: home }, overrides: url === '' ? {} : { 'store.url': url } });
const KEPT = 'mariadb://lcc@127.0.0.1:1/lcc';

describe('the work of a command', () => {
  it('is done when it is in the engine, and not before', async () => {
    keeper.hold();
    const done: string[] = [];
    const work = keptWork(configOf(KEPT), systemClock, 'clear', () => void done.push('written')).then(
      () => void done.push('told'),
    );
    await until('it is written', () => done.length > 0);
    // A keeper that is asked for nothing would have been told by now.
    for (let turn = 0; turn < 50 && keeper.waiting() === 0; turn++)
      await new Promise(resolve => void setImmediate(resolve));
    assert.deepEqual(done, ['written']);
    await keeper.holds('clear');
    keeper.release();
    await work;
    assert.deepEqual(done, ['written', 'told']);
    await until('its connection is closed', () => keeper.connections === 0);
  });

  it('is not begun where another machine has the home', async () => {
    keeper.lease = { word: 'standby', owner: '' };
    const work = keptWork(configOf(KEPT), systemClock, 'lcc', () => assert.fail('it was begun'));
    await assert.rejects(work, { code: 'try.later', message: /no machine serves this LCC/ });
  });

  it('without an engine is done at once, without any connection', async () => {
    assert.equal(await keptWork(configOf(''), systemClock, 'lcc', () => 7), 7);
    assert.equal(keeper.came, 0);
  });
});

it('what a cursor stands for is waited for no longer than is said', async () => {
  keeper.hold();
  await assert.rejects(
    keptWork(configOf(KEPT), systemClock, 'lcc', () => 0, 1),
    { code: 'try.later' },
  );
});
