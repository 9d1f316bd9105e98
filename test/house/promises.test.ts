/** docs/promises.md against the tests whose names it is made of. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectFiles, readProjectFile, ROOT } from '../support/tree.js';

const page = () => readProjectFile('docs/promises.md');

test('docs/promises.md is what the names of the tests say', () => {
  const made = spawnSync(process.execPath, [join(ROOT, 'scripts/promises.mjs')], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  assert.equal(page(), made.stdout, 'run node scripts/promises.mjs >docs/promises.md');
});

test('it has every test of the Queue Manager, of cache clearing and of registration, by its name', () => {
  for (const room of ['qm', 'clear', 'rs']) {
    const named = projectFiles(`test/${room}`).filter(path => path.endsWith('.test.ts'));
    assert.deepEqual(
      named.filter(path => !page().includes(`### \`${path}\``)),
      [],
    );
  }
  assert.ok([...page().matchAll(/^- /gm)].length > 1000);
});
