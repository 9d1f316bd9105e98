import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from '../support/tree.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-pagefind-'));
after(() => rmSync(dir, { recursive: true }));

const PAGES = ['walrus', 'penguin']
  .map(word => JSON.stringify({ burl: `http://a/${word}.html`, title: word, text: `${word} river` }))
  .join('\n');

function build(directory: string, env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, [join(ROOT, 'examples/pagefind/build.mjs'), directory], {
    input: PAGES,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
}

test('an index of Pagefind is whole when its build has ended', () => {
  const index = join(dir, 'index');
  const { status, stderr } = build(index);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  const { languages } = JSON.parse(readFileSync(join(index, 'pagefind-entry.json'), 'utf8')) as {
    languages: Record<string, { page_count: number }>;
  };
  assert.equal(languages['en']?.page_count, 2);
  const files = readdirSync(index, { recursive: true }).map(name => statSync(join(index, String(name))));
  assert.deepEqual(
    files.filter(file => file.isFile() && file.size === 0),
    [],
  );
});

test('a build of Pagefind refuses more text than it may take, before it writes', () => {
  const index = join(dir, 'refused');
  const { status, stderr } = build(index, { PAGEFIND_MAX_MB: '0' });
  assert.equal(status, 65);
  assert.match(stderr, /more than 0 MB of text; see PAGEFIND_MAX_MB/);
  assert.ok(!existsSync(index));
});

test('a search by hand finds whole words, in any form, and ends when nobody reads on', () => {
  const index = join(dir, 'many');
  const pages = Array.from({ length: 40 }, (_, i) =>
    JSON.stringify({ burl: `http://a/${i}.html`, title: 'river', text: 'many rivers' }),
  );
  const other = JSON.stringify({ burl: 'http://a/other.html', title: 'riverside', text: 'riverbank' });
  const env = { ...process.env, INDEX: index, EXAMPLE: join(ROOT, 'examples/pagefind') };
  const sh = (command: string, input = '') =>
    spawnSync('bash', ['-o', 'pipefail', '-c', command], { input, encoding: 'utf8', env });
  assert.equal(sh('"$EXAMPLE"/build.mjs "$INDEX"', [...pages, other].join('\n')).status, 0);
  const all = sh('"$EXAMPLE"/search.mjs "$INDEX" River');
  assert.deepEqual([all.status, all.stdout.split('\n').length - 1], [0, 40], all.stderr);
  assert.ok(!all.stdout.includes('other'));
  const first = sh('"$EXAMPLE"/search.mjs "$INDEX" river | (read line; echo "$line")');
  assert.deepEqual([first.status, first.stderr], [0, '']);
});
