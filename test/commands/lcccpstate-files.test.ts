import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { measureState } from '../../src/cp/quota.js';
import { AS_OTHER_USER, noOtherUser } from '../support/other-user.js';
import { ROOT } from '../support/tree.js';
import { base, CUT, freshDir, run, site, stateOf, stream, url } from '../support/lcccpstate.js';

test('a statefile that is no file is refused, and not waited for', () => {
  const dir = freshDir();
  spawnSync('mkfifo', [join(dir, 'state.txt')]);
  for (const args of [[], ['--full'], ['--commit']]) {
    const done = run(dir, stream(...site(1)), args);
    assert.equal(done.status, 74);
    assert.match(
      done.stderr,
      /^lcccpstate: the statefile \S+\/state\.txt is a named pipe; name a file, or a path where there is none yet\n$/,
    );
  }
});

const noRoot = process.getuid?.() !== 0 && 'needs root';
test('a statefile in a folder where nobody can write says why', { skip: noRoot }, () => {
  const dir = freshDir();
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', dir]);
  const done = run(dir, stream(...site(1)));
  spawnSync('umount', [dir]);
  assert.equal(done.status, 73);
  assert.match(
    done.stderr,
    /^lcccpstate: cannot write beside the statefile \S+: its file system is read-only; name a file of another\n$/,
  );
});

test('a statefile with a line that no url can be is refused, with little of it in memory', () => {
  const dir = freshDir();
  writeFileSync(join(dir, 'state.txt'), '');
  truncateSync(join(dir, 'state.txt'), 300_000_000);
  const done = run(dir, stream(...site(1)));
  assert.equal(done.status, 65);
  assert.match(done.stderr, /state\.txt: a line of more than 33554432 bytes; is it another file\?\n$/);
  assert.throws(() => measureState(join(dir, 'state.txt')), {
    code: 'data.malformed',
    message: /a line of more/,
  });
});

test('a statefile that is a symbolic link is followed, also to what is not there yet', () => {
  const dir = freshDir();
  mkdirSync(join(dir, 'elsewhere'));
  symlinkSync('elsewhere/first', join(dir, 'state.txt'));
  symlinkSync('second', join(dir, 'elsewhere/first'));
  run(dir, stream(...site(3)), ['--commit-now']);
  assert.deepEqual(readdirSync(join(dir, 'elsewhere')), ['first', 'second']);
  assert.ok(lstatSync(join(dir, 'state.txt')).isSymbolicLink());
  assert.match(run(dir, stream(...site(3))).stderr, /3 unchanged/);

  const round = freshDir();
  symlinkSync('state.txt', join(round, 'state.txt'));
  assert.equal(run(round, stream(...site(3))).status, 74);
});

test('a statefile whose lines are in another order is refused, though every url is unchanged', () => {
  const dir = freshDir();
  run(dir, stream(...site(20)), ['--commit-now']);
  const shuffled = stateOf(dir).trimEnd().split('\n').reverse().join('\n');
  writeFileSync(join(dir, 'state.txt'), `${shuffled}\n`);
  const done = run(dir, stream(...site(20)));
  assert.equal(done.status, 65);
  assert.match(done.stderr, /state\.txt:2: it is not in order/);
  assert.equal(done.stdout, CUT);
});

test('-v names every url that goes out, and why', () => {
  const dir = freshDir();
  run(dir, stream(...site(20)), ['--commit-now']);
  const lost = run(dir, stream(...site(20), url('x', 1)));
  assert.equal(lost.status, 0);
  const done = run(dir, stream(...site(19).slice(1), url('new', 1), url('p0', 7)), ['-v']);
  const said = done.stderr.replace(/\d+-\d+/, 'ID').split('\n');
  assert.deepEqual(said, [
    `lcccpstate: in doubt: ${dir}/state.txt.made.ID`,
    'lcccpstate: new: <url curl="new" mimetype="text/html"/>',
    'lcccpstate: changed: <url curl="p0" mimetype="text/html"/>',
    'lcccpstate: gone: <url curl="p19" mimetype="text/html"/>',
    'lcccpstate: gone: <url curl="x" mimetype="text/html"/>',
    'lcccpstate: 1 new, 1 changed, 2 deleted, 18 unchanged',
    '',
  ]);
});

test(
  'a configuration that is not ours to read counts as none, unless it was named',
  { skip: noOtherUser() },
  () => {
    const dir = freshDir();
    for (const [lcc, toml] of [
      [join(dir, 'home'), 'home/lcc.toml'],
      [join(dir, 'state'), 'state'],
    ] as const) {
      mkdirSync(join(dir, 'home'), { recursive: true });
      writeFileSync(join(dir, toml), 'not for you');
      chmodSync(join(dir, toml), 0);
      chmodSync(base, 0o755);
      chmodSync(dir, 0o777);
      const [setpriv, ...asOther] = [...AS_OTHER_USER, process.execPath];
      const command = join(ROOT, 'dist/bin/lcccpstate.cjs');
      const call = (...args: string[]) =>
        spawnSync(setpriv, [...asOther, command, `--statefile=${dir}/state.txt`, '--commit-now', ...args], {
          input: stream(...site(3)),
          env: { ...process.env, LCC_HOME: lcc, LCC_CONFIG: '' },
          encoding: 'utf8',
        });
      const done = call();
      assert.equal(done.status, 0, done.stderr);
      assert.equal(call(`--config=${join(dir, toml)}`).status, 66);
    }
  },
);
