import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import Module from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Script } from 'node:vm';
import { ROOT } from '../support/tree.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-start-'));
after(() => rmSync(dir, { recursive: true }));
const built = join(ROOT, 'dist/bin');
const FILTERS = ['file2url', 'lcccpstate', 'lcccp'];
const cacheOf = (name: string) => `${name}.bundle.cjs.${process.version}-${process.arch}`;

function versionOf(name: string): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(dir, `${name}.cjs`), '--version']);
  assert.equal(stderr.toString(), '');
  assert.equal(status, 0);
  return stdout.toString();
}

for (const name of [...FILTERS, 'lccq', 'lcclinks']) {
  test(`V8 takes the cached code of ${name}, which holds what it calls`, () => {
    const source = Module.wrap(readFileSync(join(built, `${name}.bundle.cjs`), 'latin1'));
    const cachedData = readFileSync(join(built, cacheOf(name)));
    assert.equal(new Script(source, { cachedData }).cachedDataRejected, false);
    // Another source to V8, which may have kept what it knows of the first.
    const onlyParsed = new Script(`${source}\n`).createCachedData();
    // Long texts, which lccq has, are in both.
    assert.ok(cachedData.length > onlyParsed.length + 64 * 1024);
  });
}

test('cached code is the same wherever it is made, and has no folder in it', () => {
  const made = ['one', 'another'].map(folder => {
    const bundle = join(dir, folder, 'lcccp.bundle.cjs');
    mkdirSync(join(dir, folder));
    copyFileSync(join(built, 'lcccp.bundle.cjs'), bundle);
    const script = join(ROOT, 'scripts/code-cache.cjs');
    const flags = ['--predictable', '--random-seed=1'];
    const input = '<url curl="a.html" mimetype="text/html"/>\n';
    const done = spawnSync(process.execPath, [...flags, script, bundle, '--dry-run', '-q'], { input });
    assert.equal(done.stderr.toString(), '');
    return readFileSync(join(dir, folder, cacheOf('lcccp')));
  });
  assert.ok(made[0]?.equals(made[1] ?? Buffer.alloc(0)));
  for (const name of readdirSync(built).filter(each => each.endsWith(cacheOf(''))))
    assert.equal(readFileSync(join(built, name)).indexOf(ROOT), -1, name);
});

for (const name of FILTERS) {
  test(`${name} starts without its cached code, and with such as V8 refuses`, () => {
    for (const file of [`${name}.cjs`, `${name}.bundle.cjs`])
      copyFileSync(join(built, file), join(dir, file));
    const expected = new RegExp(`^${name} \\(LCC\\) \\d`);
    assert.match(versionOf(name), expected);
    const damaged = readFileSync(join(built, cacheOf(name)));
    damaged.fill(0, 0, 64);
    for (const bytes of [Buffer.alloc(0), Buffer.from('no code'), damaged]) {
      writeFileSync(join(dir, cacheOf(name)), bytes);
      assert.match(versionOf(name), expected);
    }
  });
}
