import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { longIt } from '../support/long.js';
import { ROOT } from '../support/tree.js';

/** Runs a copy of scripts/test.mjs over test files made for the occasion: name → body after the import of `test`. */
function runTests(bodies: Record<string, string>, ...prefixes: string[]) {
  const root = mkdtempSync(join(tmpdir(), 'lcc-runner-'));
  try {
    for (const dir of ['scripts', 'test', 'dist/test']) mkdirSync(join(root, dir), { recursive: true });
    for (const script of [
      'test.mjs',
      'test-bundle.mjs',
      'test-process.mjs',
      'test-report.mjs',
      'test-sets.mjs',
      'test-together.mjs',
    ])
      copyFileSync(join(ROOT, 'scripts', script), join(root, 'scripts', script));
    writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
    for (const [name, body] of Object.entries(bodies)) {
      const text = `import { describe, test, before } from 'node:test';\n${body}\n`;
      for (const dir of ['test', 'dist/test']) mkdirSync(dirname(join(root, dir, name)), { recursive: true });
      if (!name.startsWith('stale')) writeFileSync(join(root, `test/${name}.test.ts`), text);
      writeFileSync(join(root, `dist/test/${name}.test.js`), text);
    }
    const env: NodeJS.ProcessEnv = { ...process.env };
    // Nobody waits for another: however slow the machine is, a file has all its time.
    if ('hanging' in bodies) env['LCC_TEST_TIMEOUT_MS'] = '8000';
    // Set by the runner this test runs under; a runner that sees it believes itself to be a test file.
    delete env['NODE_TEST_CONTEXT'];
    delete env['LCC_MODEL_RUNS'];
    const done = spawnSync(process.execPath, [join(root, 'scripts/test.mjs'), ...prefixes], {
      env,
      encoding: 'utf8',
    });
    const ran = [...done.stdout.matchAll(/^runs (\S+ \S+)$/gm)].map(([, name = '']) => name);
    const last = done.stdout.trimEnd().split('\n').at(-1);
    return { status: done.status, last, stdout: done.stdout, stderr: done.stderr, ran };
  } finally {
    rmSync(root, { recursive: true });
  }
}

test('counts tests, subtests and skipped ones, and suites not at all', () => {
  const done = runTests({
    a: `test('x', () => {}); describe('s', () => { test('y', async t => { await t.test('z', () => {}); }); });`,
    b: `test('k', { skip: 'no reason' }, () => {});`,
  });
  assert.equal(done.last, '3 passed, 0 failed, 1 skipped');
  assert.deepEqual([done.status, done.stderr], [0, '']);
});

test('counts a failure once, however deep it is nested', () => {
  const done = runTests({
    a: `test('x', () => {}); describe('s', () => { describe('t', () => { test('y', () => { throw new Error('no'); }); }); });`,
  });
  assert.equal(done.last, '1 passed, 1 failed, 0 skipped');
  assert.equal(done.status, 1);
});

longIt('counts a file that is killed, hangs, exits early or is empty as a failure each', async () => {
  const done = runTests({
    good: `test('x', () => {});`,
    killed: `test('x', () => { process.kill(process.pid, 'SIGKILL'); });`,
    hanging: `test('x', () => { for (;;); });`,
    exiting: `test('x', () => { process.exit(0); });`,
    empty: '',
    throwing: `throw new Error('at load time');`,
  });
  assert.equal(done.last, '1 passed, 5 failed, 0 skipped');
  assert.equal(done.status, 1);
});

test('runs files of such a room in one process, each with its own hooks, and goes on after one that is broken', () => {
  const done = runTests({
    'lib/a': `import { beforeEach } from 'node:test';
      beforeEach(() => console.log('for a', process.pid)); test('x', () => {});`,
    'lib/b': `test('x', () => {}); describe('s', () => { test('y', () => { throw new Error('no'); }); });`,
    'lib/empty': '',
    'lib/throwing': `throw new Error('at load time');`,
    'lib/z': `test('x', () => console.log('for z', process.pid));`,
  });
  const [, first] = /^for a (\d+)$/m.exec(done.stdout) ?? [];
  assert.equal(done.stdout.match(/^for a/gm)?.length, 1);
  assert.match(done.stdout, new RegExp(`^for z ${first}$`, 'm'));
  assert.match(done.stdout, /^── lib\/a … lib\/z /m);
  assert.match(done.stdout, /at load time/);
  assert.equal(done.last, '3 passed, 3 failed, 0 skipped');
});

longIt(
  'kills a file that hangs with all that it has started, names it, the test that waits, and what it said last',
  async () => {
    const done = runTests({
      waiting: `import { createServer } from 'node:net';
      createServer().listen(0, '127.0.0.1');
      describe('s', () => { test('w', () => {}); test('for nothing', () => new Promise(() => {})); });`,
      hanging: `import { spawn } from 'node:child_process';
      console.log('child', spawn('sleep', ['1000']).pid);
      test('x', () => { for (;;); });`,
    });
    assert.match(done.stdout, /^✖ test\/hanging: killed after 8 s \(LCC_TEST_TIMEOUT_MS\)$/m);
    assert.match(
      done.stdout,
      /^✖ test\/waiting: killed after 8 s \(LCC_TEST_TIMEOUT_MS\), in “for nothing”$/m,
    );
    const child = /^child (\d+)$/m.exec(done.stdout)?.[1] ?? '';
    assert.notEqual(child, '', done.stdout);
    // Nobody may have asked how it ended.
    const state = existsSync(`/proc/${child}`) ? readFileSync(`/proc/${child}/status`, 'utf8') : 'State:\tZ';
    assert.match(state, /^State:\tZ/m);
  },
);

test('counts a failing hook and an unfinished test as failures', () => {
  const done = runTests({
    hook: `describe('s', () => { before(() => { throw new Error('no'); }); test('y', () => {}); });`,
    unfinished: `test('x', { todo: true }, () => {});`,
  });
  assert.match(done.last ?? '', /^0 passed, [23] failed, 0 skipped$/);
  assert.equal(done.status, 1);
});

test('leaves out what the compiler once made of a test that is gone, and what was not asked for', () => {
  const done = runTests(
    { wanted: `test('x', () => {});`, stale: `test('x', () => {});`, other: `test('x', () => {});` },
    'test/wanted.test.ts',
    'stale',
  );
  assert.equal(done.last, '1 passed, 0 failed, 0 skipped');
});

test('a file of a set that fails beside others and passes alone counts as passed, and is named at the end', () => {
  const once = `import { existsSync, writeFileSync } from 'node:fs';
    const mark = new URL('./mark', import.meta.url);
    test('x', () => { if (existsSync(mark)) return; writeFileSync(mark, ''); throw new Error('no luck'); });
    test('y', () => {});`;
  const bodies = { 'lib/a': `test('z', () => {});`, 'lib/once': once };
  const done = runTests(bodies, '--set=fast');
  assert.match(
    done.stdout,
    /^✖ test\/lib\/once: “test\/lib\/once › x” failed beside others and passed alone \(.*\)\n {4}Error: no luck$/m,
  );
  assert.deepEqual(done.stdout.trimEnd().split('\n').slice(-2), [
    'unstable: lib/once',
    '3 passed, 0 failed, 0 skipped',
  ]);
  assert.equal(done.status, 0);
  assert.equal(runTests(bodies).last, '2 passed, 1 failed, 0 skipped', 'tests that are named run once');
});

test('a file of a set that fails twice fails, and the last lines say where and with which words', () => {
  const done = runTests(
    {
      'lib/a': `test('z', () => {});`,
      'lib/never': `describe('s', () => { test('x', () => { throw new Error('never'); }); });`,
      dying: `test('x', () => { process.kill(process.pid, 'SIGKILL'); });`,
    },
    '--set=fast',
  );
  assert.equal(done.stdout.match(/^── again, alone: /gm)?.length, 2);
  assert.match(
    done.stdout,
    /^✖ test\/dying: “the file” failed\n {4}ended by SIGKILL\n✖ test\/lib\/never: “s › x” failed \(.*never.*\)\n {4}Error: never\n(?: {4}.*\n)*1 passed, 2 failed, 0 skipped\n$/m,
  );
  assert.equal(done.status, 1);
});

test('where more files fail than a test can be to blame for, none is run again', () => {
  const broken = Array.from({ length: 13 }, (_, n) => [
    `lib/f${n}`,
    `test('x', () => { throw new Error('no'); });`,
  ]);
  const done = runTests(Object.fromEntries(broken) as Record<string, string>, '--set=fast');
  assert.doesNotMatch(done.stdout, /again, alone/);
  assert.equal(done.last, '0 passed, 13 failed, 0 skipped');
});

test('each file is in one of the sets fast, rest and long; long has more of some of the others, node few', () => {
  const names = ['wire/url', 'lib/lock', 'commands/lccq', 'qm/mutants', 'faults/lost-answers', 'qm/model'];
  const bodies = Object.fromEntries(
    names.map(name => [
      name,
      // One that names an amount does more in the long set.
      `test('${name}', () => { console.log('runs ${name}', process.env${/faults|model/.test(name) ? '.LCC_MODEL_RUNS' : "['LCC' + '_MODEL_RUNS']"}); });`,
    ]),
  );
  const ran = (set: string) => runTests(bodies, `--set=${set}`).ran.sort();
  assert.deepEqual(ran('fast'), ['lib/lock 20', 'qm/model 20', 'wire/url 20']);
  assert.deepEqual(ran('node'), ['lib/lock 20']);
  assert.deepEqual(ran('rest'), ['commands/lccq undefined', 'faults/lost-answers undefined']);
  assert.deepEqual(ran('long'), ['faults/lost-answers 2000', 'qm/model 2000', 'qm/mutants 2000']);
});

test('a set that is not there is named, with those that are', () => {
  const done = runTests({ a: `test('x', () => {});` }, '--set=slow');
  assert.equal(done.status, 1);
  assert.match(done.stderr, /--set=slow: the sets are fast, rest, node, long/);
});

test('says so and fails when nothing matches', () => {
  const done = runTests({ a: `test('x', () => {});` }, 'nowhere');
  assert.equal(done.status, 1);
  assert.match(done.stderr, /nothing matches nowhere/);
});
