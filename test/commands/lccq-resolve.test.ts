import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { runBin } from '../support/command.js';
import { ROOT } from '../support/tree.js';

const RESOLVE = join(ROOT, 'bin/lccq-resolve');
let cache: TestCache;
beforeEach(() => (cache = new TestCache()));
afterEach(() => cache.close());

const env = () => ({ ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '' });
function resolve(input: string, ...args: string[]): [status: number | null, stdout: string, stderr: string] {
  const { status, stdout, stderr } = runBin('lccq-resolve', args, { env: env(), input });
  return [status, stdout.toString(), stderr];
}

describe('lccq-resolve', () => {
  it('prints browse URLs in the order of the paths, which may be relative or lack a last newline', () => {
    const one = cache.put({ curl: 'http://x/1' });
    const two = cache.put({ curl: 'http://x/2', burl: 'http://b/d%C3%A9j%C3%A0' });
    const relative = two.slice(cache.store.length + 1);
    assert.deepEqual(resolve(`${two}\n${one}\n${relative}`), [
      0,
      'http://b/d%C3%A9j%C3%A0\nhttp://x/1\nhttp://b/d%C3%A9j%C3%A0\n',
      '',
    ]);
  });

  it('drops what was changed, is gone, is not browsable or lies on another machine', () => {
    const changed = cache.put({ curl: 'http://x/1' });
    const current = cache.put({ curl: 'http://x/1', content: 'new' });
    const gone = cache.put({ curl: 'http://x/2' });
    cache.remove('http://x/2');
    const hidden = cache.put({ curl: 'http://x/3', burl: '' });
    const elsewhere = cache.put({ curl: 'http://x/4', machineid: 'm2' });
    const paths = [changed, current, gone, hidden, elsewhere, `${cache.store}/00/00/ffffffff.7`];
    assert.deepEqual(resolve(paths.join('\n')), [0, 'http://x/1\n', '']);
  });

  it('finds the path in the hits of search++ and swish-e, and keeps the rest where asked to', () => {
    const path = cache.put({ curl: 'http://x/1' });
    const hits = `# results: 1\n\n100 ${path} 51 A t\u00eftle\n.\n`;
    assert.deepEqual(resolve(hits), [0, 'http://x/1\n', '']);
    assert.deepEqual(resolve(hits, '--whole-lines'), [0, '100 http://x/1 51 A t\u00eftle\n', '']);
  });

  it('takes and gives NUL with -0', () => {
    const path = cache.put({ curl: 'http://x/1\n2' });
    assert.deepEqual(resolve(`${path}\0${path}\0`, '-0'), [0, 'http://x/1\n2\0http://x/1\n2\0', '']);
    assert.deepEqual(resolve(`${path}\n`), [0, 'http://x/1%0A2\n', '']);
  });

  it('reports lines without a path of the store, goes on, and exits 1', () => {
    const path = cache.put({ curl: 'http://x/1' });
    const [status, stdout, stderr] = resolve(`/etc/passwd\n${path}\n../../etc/passwd\n`);
    assert.deepEqual([status, stdout], [1, 'http://x/1\n']);
    assert.match(
      stderr,
      /^lccq-resolve: standard input:1:1: no path below .*\nlccq-resolve: standard input:3:1: .*\n$/,
    );
  });

  it('refuses a line without end, and operands', () => {
    assert.equal(resolve('x'.repeat(200_000))[0], 65);
    assert.equal(resolve('', '/some/path')[0], 64);
    assert.equal(
      runBin('lccq-resolve', [], { env: { ...env(), LCC_HOME: '/nonexistent' }, input: '' }).status,
      66,
    );
  });

  it('answers each path before the next one is there, as of that moment', async () => {
    const path = cache.put({ curl: 'http://x/1' });
    const other = cache.put({ curl: 'http://x/2' });
    const child = spawn(RESOLVE, [], { env: env(), stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.write(`${path}\n`);
    const [first] = (await once(child.stdout, 'data')) as [Buffer];
    cache.put({ curl: 'http://x/1', content: 'new' });
    child.stdin.end(`${path}\n${other}\n`);
    const [second] = (await once(child.stdout, 'data')) as [Buffer];
    assert.deepEqual([first.toString(), second.toString()], ['http://x/1\n', 'http://x/2\n']);
    await once(child, 'close');
  });

  it('finds a file by its index, not by looking through the cache', () => {
    const plan = cache.db
      .prepare<[], { detail: string }>(
        "EXPLAIN QUERY PLAN SELECT id FROM lccurl WHERE fetched_fileid = 'a' AND fetched_machineid = 'b'",
      )
      .all();
    assert.match(plan[0]?.detail ?? '', /USING INDEX lccurl_file/);
  });
});
