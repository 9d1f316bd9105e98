/** What the demo makes of directories that are not as it expects them, and of a signal. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { SETTINGS } from '../src/config/settings/index.js';
import { DemoHome, finish, untilPrinted } from './support/demo.js';

let home: DemoHome;
let dir: string;
let temporary: string;
const demo = (site?: string, env?: Record<string, string>) => home.start(site, env);

beforeEach(() => {
  home = new DemoHome();
  ({ dir, temporary } = home);
});
afterEach(() => home.remove());

describe('the demo of a directory', () => {
  it('goes on where a directory has pipes, loops, and files that no robot takes; from where the user stands', async () => {
    spawnSync('mkfifo', [join(dir, 'site/pipe')]);
    symlinkSync('.', join(dir, 'site/loop'));
    symlinkSync('nowhere', join(dir, 'site/dangling'));
    writeFileSync(join(dir, 'site/large.bin'), '');
    truncateSync(join(dir, 'site/large.bin'), SETTINGS['bot.max_content_bytes'].default + 1);
    const asNpm = { npm_lifecycle_event: 'demo', INIT_CWD: dir };
    const { status, output, complaints } = await finish(demo('site', asNpm));
    assert.equal(status, 0, output + complaints);
    assert.match(
      output,
      /^Left out of the copy of .*: dangling \(ENOENT\), loop \(.*\), pipe \(no file\)\.\n/,
    );
    assert.match(output, /A site of 3 files/);
    assert.match(output, /All 2 files stored equal their source/);
    assert.match(output, /^Not in the LCC.*: http:\S*\/large\.bin \(606\)\. The demo goes on\.$/m);
    assert.match(output, /== Done/);
    assert.deepEqual(readdirSync(temporary), []);
  });

  it('says in one line why a directory will not do', async () => {
    mkdirSync(join(dir, 'empty'));
    mkdirSync(join(dir, 'poor'));
    writeFileSync(join(dir, 'poor/a.html'), 'a');
    for (const [site, why] of [
      [join(dir, 'no'), 'is not a directory'],
      [join(dir, 'empty'), 'has no files'],
      [join(dir, 'poor'), 'at least two different pages'],
    ] as const) {
      const { status, complaints } = await finish(demo(site));
      assert.equal(status, 1);
      assert.match(complaints, new RegExp(`^demo: .*${why}.*\\n$`, 'm'));
      assert.doesNotMatch(complaints, /^\{/m);
      assert.deepEqual(readdirSync(temporary), []);
    }
  });

  for (const signal of ['SIGINT', 'SIGHUP'] as const)
    it(`cleans up on ${signal}`, async () => {
      const child = demo();
      child.stderr.resume();
      await untilPrinted(child, '$ file2url');
      const exited = once(child, 'exit');
      child.kill(signal);
      assert.deepEqual(await exited, [128 + constants.signals[signal], null]);
      assert.deepEqual(readdirSync(temporary), []);
    });
});
