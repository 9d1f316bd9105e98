import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { runProgram } from '../support/command.js';
import { LCCQ, runLccq } from '../support/lccq.js';
import { pageOf } from '../support/mdoc.js';

let cache: TestCache;
let where: string;
beforeEach(() => {
  cache = new TestCache();
  where = join(cache.home, 'restored');
  mkdirSync(where);
});
afterEach(() => cache.close());

/** What GNU tar says and leaves on disk. */
function restore(archive: Buffer, ...args: string[]): string[] {
  const { status, stderr } = runProgram('tar', ['-x', '-f', '-', '-C', where, ...args], { input: archive });
  assert.equal(status, 0, stderr);
  assert.equal(stderr, '');
  const found = runProgram('find', ['.', '-type', 'f', '-printf', '%P\\n'], { cwd: where });
  return found.stdout.toString().split('\n').slice(0, -1).sort();
}

const restored = (path: string) => readFileSync(join(where, path));

/** Does what lccq-archive(5) says to make a copy follow. @returns the files in the copy */
function follow(...options: string[]): string[] {
  const lines = pageOf('lccq-archive')?.lines ?? [];
  const start = lines.findIndex(
    (line, i) => line.startsWith('.Bd') && lines[i + 1]?.startsWith('lccq --cursor='),
  );
  const recipe = lines
    .slice(start + 1, lines.indexOf('.Ed', start))
    .map(line => line.replaceAll('\\e', '\\'))
    .join('\n')
    .replaceAll('/srv/copy', where)
    .replace('lccq', ['lccq', ...options].join(' '));
  const env = {
    ...process.env,
    LCC_HOME: cache.home,
    LCC_CONFIG: '',
    PATH: `${dirname(LCCQ)}:${process.env['PATH']}`,
  };
  const { status, stderr } = runProgram('sh', ['-e', '-c', recipe], { cwd: cache.home, env });
  assert.deepEqual([status, stderr], [0, '']);
  const found = runProgram(
    'find',
    ['.', '-path', './.lcc', '-prune', '-o', '-type', 'f', '-printf', '%P\\n'],
    {
      cwd: where,
    },
  );
  return found.stdout.toString().split('\n').slice(0, -1).sort();
}

describe('lccq --format=tar', () => {
  it('restores with GNU tar: every page at its path, with its bytes and its time', () => {
    const binary = Buffer.from(Array.from({ length: 3_000_001 }, (_, i) => i % 251));
    const long = `https://x/${'long-directory-name/'.repeat(20)}${'n'.repeat(245)}.html`;
    cache.put({ curl: 'https://x/', content: 'root', mtime: '1999-12-31T23:59:59Z' });
    cache.put({ curl: 'https://x/docs', content: 'page', at: 1_700_000_000 });
    cache.put({ curl: 'https://x/docs/b.html', content: '' });
    cache.put({
      curl: 'https://x/d%C3%A9j%C3%A0/é.html',
      burl: 'https://b/é.html',
      content: Buffer.alloc(512, 1),
    });
    cache.put({ curl: 'https://x/big.bin', mimetype: 'image/png', content: binary });
    cache.put({ curl: long, content: 'long' });
    cache.put({ curl: 'https://x/../../up.html', content: 'up' });
    cache.put({ curl: 'https://x/old.html', content: 'old', mtime: '1960-01-01T00:00:00Z' });
    cache.put({ curl: 'https://x/hidden.html', burl: '', content: 'hidden' });
    const { status, stdout, stderr } = runLccq(cache, ['--format=tar']);
    assert.deepEqual([status, stderr], [0, '']);
    // It warns of times before 1970.
    const files = restore(stdout, '--warning=no-timestamp');
    assert.deepEqual(
      files.filter(path => !/%2E%2E/.test(path)),
      [
        'b/é.html',
        'x/big.bin',
        'x/docs/b.html',
        'x/docs~.html',
        'x/index.html',
        long.slice('https://'.length),
        'x/old.html',
      ].sort(),
    );
    assert.equal(files.length, 8);
    assert.ok(restored('x/big.bin').equals(binary));
    assert.equal(restored('x/index.html').toString(), 'root');
    assert.equal(restored('x/docs/b.html').length, 0);
    assert.equal(statSync(join(where, 'x/index.html')).mtime.toISOString(), '1999-12-31T23:59:59.000Z');
    assert.equal(statSync(join(where, 'x/old.html')).mtime.toISOString(), '1960-01-01T00:00:00.000Z');
    assert.equal(statSync(join(where, 'x/docs~.html')).mtimeMs, 1_700_000_000_000);
    assert.equal(statSync(join(where, 'x/big.bin')).mode & 0o777, 0o644);
  });

  it('is read by a second reader of other hands', () => {
    cache.put({ curl: `https://x/${'é'.repeat(90)}.html`, content: 'a' });
    cache.put({ curl: 'https://x/b.html', content: 'bb' });
    const { stdout } = runLccq(cache, ['--format=tar']);
    const script =
      'import sys,tarfile,io;print([(m.name,m.size,m.isreg()) for m in tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read()))])';
    const read = runProgram('python3', ['-c', script], {
      input: stdout,
      env: { ...process.env, PYTHONIOENCODING: 'utf8' },
    });
    assert.equal(read.stdout.toString(), `[('x/${'é'.repeat(90)}.html', 1, True), ('x/b.html', 2, True)]\n`);
  });

  for (const [format, program] of [
    ['tar.gz', 'gzip'],
    ['tar.zst', 'zstd'],
  ] as const) {
    it(`${format} is whole for ${program}, and holds the same`, () => {
      cache.fill(500, i => `https://x/${i}.html`);
      const plain = runLccq(cache, ['--format=tar']);
      const { status, stdout, stderr } = runLccq(cache, [`--format=${format}`]);
      assert.deepEqual([status, stderr], [0, '']);
      assert.equal(runProgram(program, ['-t'], { input: stdout }).status, 0);
      assert.ok(runProgram(program, ['-dc'], { input: stdout }).stdout.equals(plain.stdout));
      assert.equal(restore(runProgram(program, ['-dc'], { input: stdout }).stdout).length, 500);
      const cut = runProgram(program, ['-t'], { input: stdout.subarray(0, -5) });
      assert.notEqual(cut.status, 0);
    });
  }

  it('says what is missing when there is no zstd', () => {
    cache.put({ curl: 'https://x/1' });
    const bin = join(cache.home, 'bin');
    mkdirSync(bin);
    for (const program of ['node', 'sh', 'dirname', 'readlink', 'env'])
      symlinkSync(
        runProgram('sh', ['-c', `command -v ${program}`])
          .stdout.toString()
          .trim(),
        join(bin, program),
      );
    const { status, stderr } = runLccq(cache, ['--format=tar.zst'], { PATH: bin });
    assert.equal(status, 69);
    assert.equal(stderr, 'lccq: zstd is not installed; install it, or take tar.gz\n');
  });

  it('lists what is gone: with the recipe of the manual, as it stands there, a copy follows', () => {
    cache.put({ curl: 'https://x/kept.html', content: 'kept' });
    cache.put({ curl: 'https://x/gone.html', content: 'gone' });
    cache.put({ curl: 'https://x/moved.html', content: 'moved' });
    cache.put({ curl: 'https://x/again.html', content: 'again' });
    follow();
    assert.deepEqual(follow(), ['x/again.html', 'x/gone.html', 'x/kept.html', 'x/moved.html'], 'no change');
    cache.put({ curl: 'https://x/kept.html', content: 'kept, new' });
    follow();
    assert.equal(restored('x/kept.html').toString(), 'kept, new', 'nothing is gone');
    cache.remove('https://x/gone.html');
    cache.remove('https://x/again.html');
    cache.put({ curl: 'https://x/again.html', content: 'again, new' });
    cache.put({ curl: 'https://x/moved.html', burl: 'https://x/there.html', content: 'moved' });
    assert.deepEqual(follow(), ['x/again.html', 'x/kept.html', 'x/there.html']);
    assert.equal(restored('x/again.html').toString(), 'again, new');
  });

  it('lists the path that a page had under another mimetype', () => {
    const docs = { curl: 'https://x/docs', mimetype: 'text/plain' };
    cache.put({ curl: 'https://x/a' });
    cache.put(docs);
    cache.put({ curl: 'https://x/view' });
    assert.deepEqual(follow(), ['x/a~.html', 'x/docs~.txt', 'x/view~.html']);
    cache.remove('https://x/docs', docs);
    cache.put({ ...docs, mimetype: 'application/pdf' });
    cache.put({ curl: 'https://x/view', mimetype: 'text/xml' });
    assert.deepEqual(follow(), ['x/a~.html', 'x/docs~.pdf', 'x/view~.xml'], 'replaced, and beside another');
    cache.put({ curl: 'https://x/view', content: 'html again' });
    assert.deepEqual(follow(), ['x/a~.html', 'x/docs~.pdf', 'x/view~.html']);
    cache.remove('https://x/view');
    cache.remove('https://x/view', { mimetype: 'text/xml' });
    assert.deepEqual(
      follow(),
      ['x/a~.html', 'x/docs~.pdf'],
      'the row deleted last was not the one in the copy',
    );
    cache.put({ curl: 'https://x/a', mimetype: 'text/css' });
    assert.deepEqual(follow(), ['x/a~.css', 'x/docs~.pdf']);
    cache.put({ curl: 'https://x/a', content: 'new' });
    const others = follow('-q', '--mime=text/html');
    assert.deepEqual(others, ['x/a~.css', 'x/a~.html', 'x/docs~.pdf'], 'what is not selected stays');
  });

  it('writes more deletions than one list holds in several', () => {
    cache.put({ curl: 'https://x/1.html' });
    cache.fill(2500, i => `https://y/${i}.html`);
    cache.db.transaction(() => {
      for (let i = 1; i <= 2500; i++) cache.remove(`https://y/${i}.html`);
    })();
    const { stdout } = runLccq(cache, ['--format=tar', '--since=0']);
    const files = restore(stdout);
    assert.equal(files.length, 4);
    const lines = files.slice(0, 3).flatMap(path => restored(path).toString().split('\n').slice(0, -1));
    assert.equal(new Set(lines).size, 2500);
    assert.ok(lines.includes('y/2500.html'));
  });

  it('leaves out what is altered before anything of it was written: 1', () => {
    appendFileSync(cache.put({ curl: 'https://x/small.html' }), 'x');
    appendFileSync(cache.put({ curl: 'https://x/large.html', content: Buffer.alloc(2_000_000) }), 'x');
    rmSync(cache.put({ curl: 'https://x/missing.html' }));
    cache.put({ curl: 'https://x/good.html' });
    const { status, stdout, stderr } = runLccq(cache, ['--format=tar']);
    assert.equal(status, 1);
    assert.equal(stderr.split('\n').length, 4);
    assert.deepEqual(restore(stdout), ['x/good.html']);
  });

  it('of no rows is an archive of nothing', () => {
    assert.deepEqual(restore(runLccq(cache, ['--format=tar.gz']).stdout, '-z'), []);
  });
});
