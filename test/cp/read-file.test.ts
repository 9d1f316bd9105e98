import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Md5Lanes } from '../../src/lib/md5-lanes.js';
import { createHasher, statFile, type FileFacts, type NoFacts } from '../../src/cp/read-file.js';

const dir = mkdtempSync(join(tmpdir(), 'read-file-'));
after(() => rmSync(dir, { recursive: true }));
/** With lanes and as where there are none; for the second of each pair all that was just made has stood still for long. */
const hashers = [Md5Lanes.start() ?? assert.fail(), undefined].flatMap(lanes =>
  [Date.now, () => Date.now() + 60_000].map(now => createHasher(lanes, now)),
);
/** What all of them tell. */
function hashFiles(names: readonly string[]): (FileFacts | NoFacts)[] {
  const [told, ...others] = hashers.map(hash => hash(names));
  for (const other of others) assert.deepEqual(other, told);
  return told ?? [];
}
const hashFile = (name: string): FileFacts | NoFacts => hashFiles([name])[0] ?? assert.fail();
const md5 = (data: string | Buffer) => createHash('md5').update(data).digest('hex');

test('tells length, time and md5 of files small, empty and larger than the buffer', () => {
  for (const size of [0, 1, 4096, 1024 * 1024 - 1, 1024 * 1024, 3 * 1024 * 1024 + 7]) {
    const path = join(dir, `size-${size}`);
    const data = Buffer.alloc(size, `${size}`);
    writeFileSync(path, data);
    utimesSync(path, 1_000_000, 1_234_567.5);
    assert.deepEqual(hashFile(path), { len: size, mtimeMs: 1_234_567_500, md5: md5(data) });
    assert.deepEqual(statFile(path), { len: size, mtimeMs: 1_234_567_500 });
  }
});

test('reports many files together as it reports each, in the order of their names', () => {
  const names = Array.from({ length: 60 }, (_, i) => {
    const path = join(dir, `together-${i}`);
    if (i % 7 === 3) return path;
    writeFileSync(path, randomBytes(i % 20 === 0 ? 300_000 : i ** 3));
    return path;
  });
  names.push(dir, names[5]!, names[5]!);
  const told = hashFiles(names);
  assert.deepEqual(told, names.map(hashFile));
  for (const [i, facts] of told.entries()) {
    if (typeof facts === 'string') assert.equal(facts, i === 60 ? 'other' : 'gone');
    else assert.equal('md5' in facts && facts.md5, md5(readFileSync(names[i]!)));
  }
  assert.deepEqual(hashFiles([]), []);
});

test('takes no byte from a named pipe, and neither waits for nor lists what is no file', () => {
  const pipe = join(dir, 'pipe');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const link = join(dir, 'endless');
  symlinkSync('/dev/zero', link);
  for (const name of [dir, pipe, '/dev/null', link]) {
    assert.equal(hashFile(name), 'other', name);
    assert.equal(statFile(name), 'other', name);
  }
});

test('follows links to files; a dangling or looping one is gone', () => {
  const target = join(dir, 'target');
  writeFileSync(target, 'content');
  symlinkSync(target, join(dir, 'link'));
  symlinkSync('nowhere', join(dir, 'dangling'));
  symlinkSync('loop', join(dir, 'loop'));
  const facts = hashFile(join(dir, 'link'));
  assert.equal(typeof facts === 'object' && 'md5' in facts && facts.md5, md5('content'));
  for (const name of ['dangling', 'loop', 'never-was', 'target/below', 'x'.repeat(300)]) {
    assert.equal(hashFile(join(dir, name)), 'gone', name);
    assert.equal(statFile(join(dir, name)), 'gone', name);
  }
});

test('md5 and length agree with each other while the file grows under our eyes', async () => {
  const path = join(dir, 'growing');
  writeFileSync(path, '');
  const grow =
    '$| = 1; open(F, ">>", $ARGV[0]); F->autoflush; for (1..1e9) { print F "line $_\n"; print "go\n" if $_ == 1; last if -s F > 8e6 }';
  const writer = spawn('perl', ['-MIO::Handle', '-e', grow, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(writer.stdout, 'data');
  const seen = [];
  for (let i = 0; i < 40; i++) for (const hash of hashers) seen.push(...hash([path]));
  writer.kill();
  await once(writer, 'close');
  const whole = readFileSync(path);
  for (const facts of seen) {
    assert.ok(typeof facts === 'object' && 'md5' in facts);
    assert.equal(facts.md5, md5(whole.subarray(0, facts.len)));
  }
});
