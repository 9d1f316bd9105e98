import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { belowRoot } from '../../src/cp/below-root.js';

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'docroot-')));
after(() => rmSync(dir, { recursive: true }));
mkdirSync(join(dir, 'www/sub'), { recursive: true });
symlinkSync('www', join(dir, 'site'));

test('the name below the root, however root and name were written', () => {
  for (const root of ['www', 'www/', './www', `${dir}/www`, 'site', `${dir}/site/`, 'www/sub/..']) {
    const below = belowRoot(root, dir);
    for (const name of [
      'www/a/b.html',
      './www/a/b.html',
      `${dir}/www/a/b.html`,
      'www//a/./b.html',
      'www/x/../a/b.html',
    ])
      assert.equal(below(name), 'a/b.html', `${name} below ${root}`);
  }
  assert.equal(belowRoot('site', dir)('site/a'), 'a');
});

test('with the current directory as root, leading ./ is removed and plain names stay', () => {
  const below = belowRoot('.', dir);
  for (const [name, path] of [
    ['./a', 'a'],
    ['a', 'a'],
    ['.//a', 'a'],
    ['.hidden', '.hidden'],
    ['a/.b', 'a/.b'],
    ['...', '...'],
    ['-x', '-x'],
    [`${dir}/a`, 'a'],
  ])
    assert.equal(below(name!), path);
});

test('a root seen from below: names are relative to the current directory', () => {
  assert.equal(belowRoot('..', `${dir}/www/sub`)('x.html'), 'sub/x.html');
  assert.equal(belowRoot('..', `${dir}/www/sub`)('../x.html'), 'x.html');
  assert.equal(belowRoot('/', '/')('etc/passwd'), 'etc/passwd');
  assert.equal(belowRoot('/', dir)('/etc/passwd'), 'etc/passwd');
});

test("names outside of the root are nobody's, look-alikes too", () => {
  const below = belowRoot('www', dir);
  for (const name of ['a', '../a', '/etc/passwd', 'www2/a', 'www/../a', 'www/a/../../../etc', `${dir}/www2`])
    assert.equal(below(name), undefined, name);
});
