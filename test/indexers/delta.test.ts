/** What the scripts of all indexers share, tried with the one that needs nothing but npm. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { runProgram, type Ran } from '../support/command.js';
import { ROOT } from '../support/tree.js';

const EXAMPLE = join(ROOT, 'examples/minisearch');
let cache: TestCache;
let dir: string;
beforeEach(() => {
  cache = new TestCache();
  dir = join(cache.home, 'index');
  mkdirSync(dir);
});
afterEach(() => cache.close());

const env = () => ({
  ...process.env,
  LCC_HOME: cache.home,
  LCC_CONFIG: '',
  PATH: `${join(ROOT, 'bin')}:${process.env['PATH']}`,
});
const update = (): Ran => runProgram(join(EXAMPLE, 'update'), [dir], { env: env() });
const found = (word: string) =>
  runProgram('node', [join(EXAMPLE, 'search.mjs'), join(dir, 'index.json'), word]).stdout.toString();

describe('the scripts of indexers', () => {
  it('take what they can when single pages cannot be read, move the cursor, and exit 1 with the reason', () => {
    cache.put({ curl: 'http://x/1', content: '<p>walrus' });
    rmSync(cache.put({ curl: 'http://x/2', content: '<p>penguin' }));
    const { status, stdout, stderr } = update();
    assert.deepEqual([status, stdout.toString()], [1, '']);
    assert.match(stderr, /^lccq: http:\/\/x\/2: left out: .* is missing.*\n$/);
    assert.equal(found('walrus'), 'http://x/1\n');
    assert.deepEqual(update().status, 0);
  });

  it('make no cursor while there is nothing to index', () => {
    assert.equal(update().status, 0);
    assert.ok(!existsSync(join(dir, 'lcc.cursor')));
    cache.put({ curl: 'http://x/1', content: '<p>walrus' });
    assert.equal(update().status, 0);
    assert.equal(found('walrus'), 'http://x/1\n');
  });

  for (const example of ['minisearch', 'fts5'])
    it(`say that their directory is missing: 73 (${example})`, () => {
      const { status, stderr } = runProgram(join(ROOT, 'examples', example, 'update'), [join(dir, 'x')], {
        env: env(),
      });
      assert.deepEqual(
        [status, stderr],
        [73, `update: ${join(dir, 'x')}: no such directory; make it, for the user that runs this\n`],
      );
    });

  it('let only one run at a time change an index: 75', async () => {
    cache.put({ curl: 'http://x/1', content: '<p>walrus' });
    const holder = spawn('flock', [join(dir, 'lock'), 'sh', '-c', 'echo held; read -r line'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    const { status, stderr } = update();
    assert.equal(status, 75);
    assert.match(stderr, /another run is at work/);
    holder.stdin.end('\n');
    await once(holder, 'exit');
    assert.equal(update().status, 0);
  });

  it('keep the index, the cursor and the status of an indexer that fails', () => {
    cache.put({ curl: 'http://x/1', content: '<p>walrus' });
    assert.equal(update().status, 0);
    cache.put({ curl: 'http://x/2', content: '<p>penguin' });
    // The new index cannot be written beside the old one.
    mkdirSync(join(dir, 'index.json.new'));
    assert.notEqual(update().status, 0);
    assert.equal(found('penguin'), '');
    rmSync(join(dir, 'index.json.new'), { recursive: true });
    assert.equal(update().status, 0);
    assert.equal(found('penguin'), 'http://x/2\n');
  });

  it('say how they are called, and that a cursor is too old', () => {
    assert.match(
      runProgram(join(EXAMPLE, 'update'), [], { env: env() }).stderr,
      /directory of the index is missing/,
    );
    cache.put({ curl: 'http://x/1', content: '<p>walrus' });
    assert.equal(update().status, 0);
    cache.put({ curl: 'http://x/2' });
    cache.remove('http://x/2');
    cache.forgetDeletions();
    const { status, stderr } = update();
    assert.equal(status, 65);
    assert.match(stderr, /full resync needed/);
  });
});
