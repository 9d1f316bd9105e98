/** The home of an LCC is its own: a command run there by another user says so. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { runCommand } from '../support/command.js';
import { noOtherUser, OTHER_USER } from '../support/other-user.js';

describe('somebody who may not read its files', { skip: noOtherUser() }, () => {
  let cache: TestCache;
  const qm = createServer();
  before(async () => {
    cache = new TestCache();
    mkdirSync(join(cache.home, 'run'));
    const path = join(cache.home, 'run/lccd-qm.ctl.sock');
    await new Promise<void>(resolve => void qm.listen(path, resolve));
    chmodSync(cache.home, 0o755);
    chmodSync(join(cache.home, 'run'), 0o700);
    chmodSync(cache.dbPath, 0o640);
  });
  after(() => {
    qm.close();
    cache.close();
  });

  const said = (command: string, ...args: string[]) => {
    const { status, stderr } = runCommand(cache.home, command, args, OTHER_USER);
    return { status, stderr };
  };
  const advice = 'permission denied; run this as the user that lccd runs as';

  for (const [command, ...args] of [['lccq', '--count'], ['lccpidb', 'list'], ['lccfsck']] as const)
    it(`is told by ${command} what to do`, () => {
      const stderr = `${command}: ${cache.home}/lcc.db: ${advice}\n`;
      assert.deepEqual(said(command, ...args), { status: 66, stderr });
    });

  it('is told by lccstat what to do, and not that nobody is there', () => {
    const stderr = `lccstat: ${cache.home}/run: ${advice}\n`;
    for (const args of [[], ['--until-idle']])
      assert.deepEqual(said('lccstat', ...args), { status: 69, stderr });
  });

  it('is told by lccctl that nothing is changed, and not that nobody is there', () => {
    const stderr = `lccctl: nothing is changed: ${cache.home}/run/lccd-qm.ctl.sock: ${advice}\n`;
    assert.deepEqual(said('lccctl', 'pause'), { status: 69, stderr });
  });
});
