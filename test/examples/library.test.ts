import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

let dir: string;
let cache: TestCache;

/** A program's directory, with the package installed from what `npm pack` makes of it. */
before(() => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-library-'));
  cache = new TestCache();
  const packed = spawnSync('npm', ['pack', '--ignore-scripts', '--silent', `--pack-destination=${dir}`], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  assert.equal(packed.status, 0, packed.stderr);
  const archive = readdirSync(dir).find(name => name.endsWith('.tgz')) ?? '';
  const modules = join(dir, 'node_modules');
  mkdirSync(modules);
  assert.equal(spawnSync('tar', ['-xzf', join(dir, archive), '-C', modules]).status, 0);
  renameSync(join(modules, 'package'), join(modules, 'lcc'));
  // What npm would have fetched lies here already; there may be no network.
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (!name.startsWith('.')) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }\n');
  copyFileSync(join(ROOT, 'examples/library/titles.mjs'), join(dir, 'titles.mjs'));
});
after(() => {
  cache.close();
  rmSync(dir, { recursive: true });
});

const env = () => ({ ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '' });
const titles = () =>
  existsSync(join(dir, 'list'))
    ? Object.values(JSON.parse(readFileSync(join(dir, 'list'), 'utf8')) as Record<string, { title: string }>)
        .map(({ title }) => title)
        .sort()
    : [];

describe('the library, installed as a package', () => {
  it('serves the example program: it goes on where it was, follows, and ends when told to', async () => {
    const run = () =>
      spawnSync('node', ['titles.mjs', 'list', 'cursor'], { cwd: dir, env: env(), encoding: 'utf8' });
    cache.put({ curl: 'http://x/1', content: '<title>One</title>' });
    cache.put({ curl: 'http://x/2', content: '<title>Two</title>' });
    assert.equal(run().stderr, '');
    assert.deepEqual(titles(), ['One', 'Two']);
    cache.remove('http://x/1');
    cache.put({ curl: 'http://x/2', content: '<title>Zwei</title>' });
    assert.equal(run().status, 0);
    assert.deepEqual(titles(), ['Zwei']);
    const follower = spawn('node', ['titles.mjs', 'list', 'cursor', 'follow'], {
      cwd: dir,
      env: env(),
      stdio: 'inherit',
    });
    const ended = once(follower, 'exit');
    cache.put({ curl: 'http://x/3', content: '<title>Drei</title>' });
    await until('2 titles are there', () => titles().length >= 2);
    follower.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    assert.deepEqual(titles(), ['Drei', 'Zwei']);
  });

  it('serves it without writing its file anew for each change', () => {
    cache.fill(5000, i => `http://many/${i}`);
    // Counts what becomes the list.
    const counting = `
      import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module';
      const { renameSync } = fs; let count = 0;
      fs.renameSync = (from, to) => { count += to === 'many'; renameSync(from, to); };
      syncBuiltinESMExports(); process.on('exit', () => console.log(count));`;
    const { stdout, stderr } = spawnSync(
      'node',
      [`--import=data:text/javascript,${encodeURIComponent(counting)}`, 'titles.mjs', 'many', 'many.cursor'],
      { cwd: dir, env: env(), encoding: 'utf8' },
    );
    assert.equal(stderr, '');
    assert.equal(Object.keys(JSON.parse(readFileSync(join(dir, 'many'), 'utf8')) as object).length, 5002);
    assert.ok(Number(stdout) <= 8, stdout);
  });

  it('moves its cursor past what it does not select', () => {
    cache.put({ curl: 'http://x/image', mimetype: 'image/png' });
    const run = spawnSync('node', ['titles.mjs', 'list', 'cursor'], { cwd: dir, env: env() });
    assert.equal(run.status, 0);
    const seq = Number(readFileSync(join(dir, 'cursor'), 'utf8').split(' ').at(-1));
    assert.equal(seq, Number(cache.db.prepare("SELECT value FROM counter WHERE name = 'seq'").pluck().get()));
  });

  it('is type-checked by TypeScript, strictly and with its declarations, and says what is wrong', () => {
    const check = (name: string, program: string) => {
      writeFileSync(join(dir, name), program);
      return spawnSync(
        'node',
        [
          join(ROOT, 'node_modules/typescript/bin/tsc'),
          '--noEmit',
          '--strict',
          '--module',
          'nodenext',
          '--target',
          'es2023',
          '--types',
          'node',
          name,
        ],
        { cwd: dir, encoding: 'utf8' },
      );
    };
    const right = check(
      'right.ts',
      `import { contentOf, openLcc, type Change, type Cursor } from 'lcc';
const lcc = openLcc({ home: '/srv/lcc' });
let reached: Cursor = lcc.now();
export async function sizes(signal: AbortSignal): Promise<number> {
  let bytes = 0;
  for await (const change of lcc.changes({ cursor: reached, follow: true, signal })) {
    const { md5 }: Change = change;
    if (md5 !== null) for await (const piece of contentOf(change)) bytes += piece.length;
    reached = change.cursor;
  }
  return bytes;
}
`,
    );
    assert.equal(right.stdout + right.stderr, '');
    const wrong = check(
      'wrong.ts',
      `import { openLcc } from 'lcc';\nopenLcc().changes({ since: 'yesterday' });\n`,
    );
    assert.match(wrong.stdout, /wrong\.ts\(2,\d+\): error TS2322/);
  });
});
