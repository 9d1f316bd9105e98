import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ROOT } from './support/tree.js';

const SCRIPT = join(ROOT, 'scripts/demo/index.mjs');
/** All that the demo needs of a system besides Node: no sqlite3 among it. */
const PROGRAMS = ['bash', 'sh', 'env', 'find', 'rm', 'cp', 'cat'];
let dir: string;
let temporary: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-demotest-'));
  temporary = join(dir, 'tmp');
  for (const folder of ['tmp', 'bin', 'site/a b']) mkdirSync(join(dir, folder), { recursive: true });
  symlinkSync(process.execPath, join(dir, 'bin/node'));
  for (const name of PROGRAMS) {
    const path = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
    symlinkSync(path, join(dir, 'bin', name));
  }
  writeFileSync(join(dir, 'site/index.html'), '<title>Start</title><p>marmalade</p>');
  writeFileSync(join(dir, "site/a b/it's & more#1.html"), '<p>dragonfly d\u00e9j\u00e0</p>');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function demo() {
  return spawn(process.execPath, [SCRIPT, join(dir, 'site')], {
    env: { PATH: join(dir, 'bin'), HOME: dir, TMPDIR: temporary },
    cwd: dirname(SCRIPT),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

describe('the demo', () => {
  it('takes a directory through the whole line and cleans up, without sqlite3', async () => {
    const child = demo();
    const [output, complaints, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit') as Promise<[number]>,
    ]);
    assert.equal(status, 0, output + complaints);
    assert.match(output, /The web server was asked for 2 files\. All 2 files stored equal their source/);
    assert.match(output, /nothing has changed[\s\S]*The web server was asked for 0 files/);
    assert.match(complaints, /lcccpstate: 1 new, 1 changed, 1 deleted, 0 unchanged/);
    const changes = output.split('\n').filter(line => /^(upsert|delete)\t/.test(line));
    assert.equal(changes.filter(line => line.startsWith('delete\t')).length, 1);
    assert.equal(changes.length, 3);
    assert.match(output, /MATCH 'axolotl'.*\nhttp:\/\/127\.0\.0\.1:\d+\/new\.html\n/);
    assert.match(output, /MATCH 'quokka'.*\nhttp:/);
    assert.match(output, /ORDER BY rank"\n\(nothing\)\n/);
    assert.deepEqual(readdirSync(temporary), []);
  });

  it('cleans up when it is interrupted', async () => {
    const child = demo();
    child.stderr.resume();
    let output = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      output += chunk as string;
      if (output.includes('$ file2url')) break;
    }
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    assert.deepEqual(await exited, [130, null]);
    assert.deepEqual(readdirSync(temporary), []);
  });
});
