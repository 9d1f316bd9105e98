import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { LccError } from '../../src/lib/errors.js';
import { Output, readChunks } from '../../src/lib/stdio.js';

const dir = mkdtempSync(join(tmpdir(), 'stdio-'));
after(() => rmSync(dir, { recursive: true }));

const module = fileURLToPath(new URL('../../src/lib/stdio.js', import.meta.url));
/** Copies fd 0 to fd 1 with the module under test, in a process of its own. */
const COPY = `import(${JSON.stringify(module)}).then(({ Output, readChunks }) => {
  const out = new Output(1, { encoding: 'latin1' });
  for (const chunk of readChunks(0)) out.write(chunk.latin1Slice());
  out.flush();
}).catch(e => { process.stderr.write((e.code ?? '') + ' ' + e.message); process.exitCode = 3; });`;

test('reads a descriptor to its end in chunks of the size asked for', () => {
  const path = join(dir, 'in');
  writeFileSync(path, 'abcdefgh');
  const fd = openSync(path, 'r');
  const chunks = [...readChunks(fd, 'in', 3)].map(c => c.length);
  closeSync(fd);
  assert.deepEqual(chunks, [3, 3, 2]);
});

test('says that the input is a directory', () => {
  const fd = openSync(dir, 'r');
  assert.throws(
    () => [...readChunks(fd, 'the list')],
    (e: unknown) =>
      e instanceof LccError && e.code === 'input.missing' && e.message === 'the list is a directory',
  );
  closeSync(fd);
});

test('writes nothing before a block is full and everything after flush, bytes in their place', () => {
  const path = join(dir, 'out');
  const fd = openSync(path, 'w');
  const out = new Output(fd, { blockLength: 4, encoding: 'latin1' });
  out.write('abc');
  assert.equal(readFileSync(path, 'latin1'), '');
  out.write('\xff');
  assert.equal(readFileSync(path, 'latin1'), 'abc\xff');
  out.write('x');
  out.write(Buffer.from('yz'));
  assert.equal(readFileSync(path, 'latin1'), 'abc\xffxyz');
  out.write('!');
  out.flush();
  out.flush();
  closeSync(fd);
  assert.equal(readFileSync(path, 'latin1'), 'abc\xffxyz!');
});

test('a full disk is io.full, exit 74', () => {
  const fd = openSync('/dev/full', 'w');
  const out = new Output(fd);
  out.write('x');
  assert.throws(
    () => out.flush(),
    (e: unknown) => e instanceof LccError && e.code === 'io.full',
  );
  closeSync(fd);
});

test('a reader that went away is the EPIPE of the system', () => {
  const pipe = 'yes | "$0" -e "$1" | head -c 10; exit "${PIPESTATUS[1]}"';
  const done = spawnSync('bash', ['-c', pipe, process.execPath, COPY]);
  assert.equal(done.status, 3);
  assert.match(done.stderr.toString(), /^EPIPE /);
});

test('carries a megabyte through non-blocking pipes whose reader and writer dawdle', async () => {
  // The pipes of a Node parent are socket pairs; perl makes real pipes and their both ends non-blocking.
  const helper = `use Fcntl; pipe(my $ir, my $iw); pipe(my $or, my $ow);
    for my $h ($ir, $ow) { fcntl($h, F_SETFL, fcntl($h, F_GETFL, 0) | O_NONBLOCK); }
    if (!fork) { close $ir; close $ow; close $or; binmode $iw;
      for my $i (1..16) { syswrite($iw, chr(64+$i) x 65536) == 65536 or die; select(undef,undef,undef,0.005) if $i % 4 == 0; } exit 0; }
    if (!fork) { close $iw; close $or; open(STDIN, '<&', $ir); open(STDOUT, '>&', $ow); exec @ARGV; }
    close $ir; close $iw; close $ow; binmode STDOUT; select(undef,undef,undef,0.1);
    while (sysread($or, my $b, 30000)) { print $b; } wait; wait; exit($? >> 8);`;
  const child = spawn('perl', ['-e', helper, process.execPath, '-e', COPY], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (c: Buffer) => chunks.push(c));
  const [status] = (await once(child, 'close')) as [number];
  assert.equal(status, 0);
  const expected = Array.from({ length: 16 }, (_, i) => String.fromCharCode(65 + i).repeat(65536)).join('');
  assert.ok(Buffer.concat(chunks).toString('latin1') === expected);
});
