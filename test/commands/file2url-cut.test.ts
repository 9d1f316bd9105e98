import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runBin } from '../support/command.js';
import { ROOT } from '../support/tree.js';

const dir = mkdtempSync(join(tmpdir(), 'file2url-cut-'));
after(() => rmSync(dir, { recursive: true }));
const tree = join(dir, 'tree');
mkdirSync(join(tree, 'deep'), { recursive: true });
for (const name of ['a.html', 'deep/b.html']) writeFileSync(join(tree, name), name);
symlinkSync('nowhere', join(tree, 'deep/lost'));

const WAYS = [[], ['--md5', '--jobs=1'], ['--md5', '--jobs=2']];
/** Enough for threads to hash, with two of them. */
const MANY = 'a.html\n'.repeat(1500);

const run = (args: string[], input: string) => {
  const { status, stdout, stderr } = runBin('file2url', args, { cwd: tree, input });
  return { status, stderr, lines: stdout.toString().split('\n').slice(0, -1) };
};

test('a list that ends within a name is not whole: status 74, and the stream stays without its end', () => {
  for (const args of WAYS)
    for (const part of ['deep/b.htm', 'deep', 'dee', 'deep/lost', '../si', '/'])
      for (const before of ['', 'a.html\n', 'gone\n', MANY]) {
        const done = run(args, before + part);
        assert.deepEqual([done.status, done.lines.at(-1)], [74, '<?lcc-failed status="74"?>'], part);
        assert.ok(!done.lines.includes('<?lcc end?>'));
        assert.match(done.stderr, /^(?:file2url: gone: .*\n)?file2url: the list ends with \S+, which .*\n$/);
      }
});

test('a list whose last name only lacks its end is whole, and the name comes last', () => {
  for (const args of WAYS)
    for (const before of ['', 'a.html\n', MANY]) {
      const done = run(args, `${before}deep/b.html`);
      assert.deepEqual([done.status, done.stderr, done.lines.at(-1)], [0, '', '<?lcc end?>']);
      assert.match(done.lines.at(-2) ?? '', /curl="deep\/b\.html"/);
    }
  assert.equal(run(['-0'], 'a.html\0deep/b.html').status, 0);
});

test('nothing is announced as deleted for a list that was cut', () => {
  const tell = (bytes: number) =>
    spawnSync(
      'bash',
      [
        '-c',
        'find . -type f | sort | head -c "$2" | "$1/file2url" | "$1/lcccpstate" --statefile="$3"',
        'bash',
        join(ROOT, 'bin'),
        String(bytes),
        join(dir, 'state.txt'),
      ],
      { cwd: tree },
    );
  assert.match(tell(1000).stdout.toString(), /b\.html/);
  const cut = tell('./a.html\n./deep/b.h'.length);
  assert.equal(cut.status, 74);
  assert.doesNotMatch(cut.stdout.toString(), /b\.html/);
});
