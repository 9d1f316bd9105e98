/** An older clear.db that is put back: the daemons refuse it, and lccfsck lets it begin again. */
import assert from 'node:assert/strict';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { newestMark } from '../../src/db/sqlite/marks.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import { runCommand } from '../support/command.js';
import { SoftHome } from '../support/soft.js';
import { until } from '../support/until.js';

const home = new SoftHome();
after(() => home.end());

it('an older clear.db that was put back is served by no daemon until lccfsck has it begin again', async () => {
  const path = join(home.dir, 'clear/clear.db');
  const lccfsck = (...args: string[]) => runCommand(home.dir, 'lccfsck', args);
  await home.begin([]);
  home.publish('/a.html');
  let hard = home.startHard();
  await hard.ready;
  const soft = home.startSoft();
  await home.untilPublished();
  const marked = newestMark(path)?.number ?? 0;
  await until('a mark of that', () => (newestMark(path)?.number ?? 0) > marked);
  soft.child.kill('SIGTERM');
  assert.equal(await soft.ended, 0);
  const running = openSqlite(path, { readonly: true });
  await running.backup(`${path}.backup`);
  running.close();
  const before = newestMark(path)?.number ?? 0;
  home.request(['b']);
  await until('a mark of what came since', () => (newestMark(path)?.number ?? 0) > before);
  hard.child.kill('SIGKILL');
  await hard.ended;
  home.db.close();
  for (const part of ['-wal', '-shm']) rmSync(path + part, { force: true });
  copyFileSync(`${path}.backup`, path);
  for (const daemon of [home.startHard(), home.startSoft()]) {
    assert.equal(await daemon.ended, 78);
    assert.match(daemon.log, /clear\.db: an older copy was put back .* lccfsck --repair --restored/);
  }
  assert.equal(lccfsck().status, 1);
  const mended = lccfsck('--repair', '--restored');
  assert.deepEqual([mended.status, mended.stderr.includes('clear once more what was changed')], [0, true]);
  hard = home.startHard();
  await hard.ready;
  assert.equal(lccfsck().status, 0);
});
