import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { HashPool } from '../../src/cp/hash-pool.js';

test('what a thread had that died is described all the same, in order', t => {
  const docroot = mkdtempSync(join(tmpdir(), 'lcc-pool-'));
  t.after(() => rmSync(docroot, { recursive: true }));
  const names = Array.from({ length: 20 }, (_, i) => `p${i}.html`);
  for (const name of names) writeFileSync(join(docroot, name), name);
  const script = join(import.meta.dirname, '../fixtures/ending-hasher.js');
  const texts: string[] = [];
  const options = { cwd: docroot, docroot, md5: true, types: [], defaultType: 'text/plain' };
  // Patience is for the start of a thread as well, on a machine that is busy.
  const pool = new HashPool(script, 1, options, answer => void texts.push(answer.text), 3000);
  for (const name of names) pool.push([join(docroot, name)]);
  pool.end();
  assert.equal(texts[0], 'thread\n');
  const described = texts.slice(1).map(text => /curl="([^"]*)"/.exec(text)?.[1]);
  assert.deepEqual(described, names.slice(1));
});

test('a notice that comes late is not taken for an answer', () => {
  const script = join(import.meta.dirname, '../fixtures/late-notice.js');
  const texts: string[] = [];
  const options = { cwd: '/', docroot: '/', md5: true, types: [], defaultType: 'text/plain' };
  const pool = new HashPool(script, 1, options, answer => void texts.push(answer.text));
  pool.push(['/a']);
  pool.push(['/b']);
  pool.end();
  assert.deepEqual(texts, ['answer 0\n', 'answer 1\n']);
});
