import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectFiles, readProjectFile, ROOT } from '../support/tree.js';
import { SQLITE } from '../support/new-database.js';

const module = join(ROOT, 'dist/src/lib/sqlite.js');

/** What a process prints that runs `code` with `sqlite`, the module in `file`. */
function run(code: string, file = module): string {
  const source = `import * as sqlite from ${JSON.stringify(file)};\n${code}`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', source], {
    encoding: 'utf8',
  });
  assert.equal(stderr, '');
  return stdout;
}

test('a process loads one SQLite, the one of its Node, however many threads open databases', () => {
  const addons = run(`
    import { readFileSync } from 'node:fs';
    import { once } from 'node:events';
    import { Worker } from 'node:worker_threads';
    const code = 'import(' + JSON.stringify(${JSON.stringify(module)}) + ").then(s => s.openSqlite(':memory:'))";
    sqlite.openSqlite('');
    await once(new Worker(code, { eval: true }), 'exit');
    const maps = readFileSync('/proc/self/maps', 'utf8').match(/\\S*better-sqlite3\\S*\\.node/g);
    console.log([...new Set(maps)].join('\\n'));
  `);
  const [addon, ...others] = addons.trim().split('\n');
  assert.ok(addon?.includes(`/node_modules/${SQLITE}/`), addons);
  assert.deepEqual(others, []);
});

test('who has no SQLite for this Node is told how to get it', () => {
  const root = mkdtempSync(join(tmpdir(), 'lcc-sqlite-'));
  try {
    // Without node_modules.
    cpSync(join(ROOT, 'dist/src/lib'), join(root, 'lib'), { recursive: true });
    cpSync(join(ROOT, 'package.json'), join(root, 'package.json'));
    const said = run(
      `try { sqlite.openSqlite(':memory:'); } catch (error) { console.log(error.code, error.message); }`,
      join(root, 'lib/sqlite.js'),
    );
    assert.match(
      said,
      new RegExp(
        `^config ${SQLITE} for Node v\\S+ cannot be loaded \\(Cannot find module .*\\bnpm ci\\b.*\n$`,
      ),
    );
  } finally {
    rmSync(root, { recursive: true });
  }
});

test('no other module loads it', () => {
  const loading = projectFiles('src')
    .filter(path => path.endsWith('.ts') && path !== 'src/lib/sqlite.ts')
    .filter(path => readProjectFile(path).includes('better-sqlite3'));
  assert.deepEqual(loading, ['src/db/sqlite/open.ts']);
});
