/** How long a command or a program waits for the engine before it tells a cursor. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { whenShipped } from '../../src/daemon/when-shipped.js';
import { ManualClock } from '../support/manual-clock.js';
import { HeldKeeper, KEPT_HOME } from '../support/held-keeper.js';

test('what the engine has not taken after 10 s is not told', async t => {
  const home = mkdtempSync(join(tmpdir(), 'lcc-shipped-'));
  t.after(() => rmSync(home, { recursive: true }));
  writeFileSync(join(home, 'lcc.toml'), KEPT_HOME);
  const keeper = await new HeldKeeper(home).open();
  keeper.hold();
  const clock = new ManualClock();
  const shipped = whenShipped(loadConfig({ env: { LCC_HOME: home } }), clock) ?? assert.fail();
  let isOver = false;
  const ended = shipped().finally(() => (isOver = true));
  await keeper.holds('lcc');
  clock.advance(9999);
  await new Promise(setImmediate);
  assert.ok(!isOver);
  clock.advance(1);
  await assert.rejects(ended, {
    code: 'try.later',
    message: /engine has not taken what is committed within 10 s/,
  });
  await keeper.close();
});
