import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, readFileSync, unlinkSync, writeFileSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { tryLock } from '../../src/lib/lock.js';
import { type Lcc, startLcc } from '../support/lcc.js';
import { TestSite } from '../support/site.js';

const site = await TestSite.listen();
let lcc: Lcc;

const fsck = (options = '', env: NodeJS.ProcessEnv = {}) => lcc.sh(`lccfsck ${options}`, env);

before(async () => {
  lcc = await startLcc(site.urlOf('/'));
  await lcc.publish(site, { a: 'a', b: 'b', c: 'c' });
});
after(async () => {
  site.close();
  await lcc.remove();
});

test('an LCC that runs is looked at, and what only its Bot Manager knows is left out; repairing it has to wait: 75', async () => {
  assert.deepEqual(await fsck(), {
    status: 0,
    stdout: '',
    stderr:
      'lccfsck: the LCC runs: files without rows and the free list are looked at only while lccd is stopped\n' +
      'lccfsck: 3 rows, 3 files, 3 bytes read: nothing found\n',
  });
  const { status, stdout, stderr } = await fsck('--repair');
  assert.deepEqual([status, stdout], [75, '']);
  assert.match(stderr, /^lccfsck: .*: lccd-qm \(process \d+\) has it open; stop lccd before a repair\n$/);
});

test('a repair names whoever has the queue while lccd is stopped', async () => {
  await lcc.stop();
  const lock = tryLock(join(lcc.home, 'lcc.db.lock'));
  const { status, stderr } = await fsck('--repair');
  lock?.release();
  assert.equal(status, 75);
  const who = `${basename(process.argv[1] ?? '')} (process ${process.pid})`;
  assert.ok(stderr.endsWith(`lcc.db: ${who} has it open; stop that before a repair\n`), stderr);
});

test('found: 1; repaired: 0; then nothing; and what was lost comes again when lccd runs', async () => {
  await lcc.stop();
  const db = openReadOnly(join(lcc.home, 'lcc.db'));
  const [id, file] = db
    .prepare("SELECT id, fetched_fileid FROM lccurl WHERE curl LIKE '%/b'")
    .raw()
    .get() as [number, string];
  db.close();
  unlinkSync(join(lcc.home, 'store', file));
  const line = `missing-file\t${file} (lccurl ${id}, ${site.url}/b)\tthere is no such file`;
  const looked = await fsck();
  assert.deepEqual([looked.status, looked.stdout], [1, `${line}\n`]);
  assert.match(
    looked.stderr,
    /3 rows, 2 files, 2 bytes read: 1 found, 0 repaired; stop lccd and run lccfsck --repair\n$/,
  );
  assert.deepEqual(await fsck('--repair --quiet'), {
    status: 0,
    stdout: `${line}\trepaired\n`,
    stderr: '',
  });
  assert.deepEqual(await fsck('--quick'), {
    status: 0,
    stdout: '',
    stderr: 'lccfsck: 2 rows, 2 files, 1 deletion waiting, 0 bytes read: nothing found\n',
  });
  await lcc.start();
  await lcc.idle();
  assert.equal((await lcc.holdings()).rows.length, 3);
  await lcc.stop();
});

test('a repair goes on when nobody reads what it found, and has its status', async () => {
  // More than a block of output, and than a pipe holds.
  const strays = Array.from({ length: 3000 }, (_, n) =>
    join(lcc.home, 'store', `${'stray-'.repeat(8)}${n}.tmp`),
  );
  for (const stray of strays) writeFileSync(stray, '');
  const done = await lcc.sh('lccfsck --quick --repair | head -n 1; exit "${PIPESTATUS[0]}"');
  assert.equal(done.status, 0, done.stderr);
  assert.match(done.stdout, /^leftover\t.*\trepaired\n$/);
  assert.match(done.stderr, /: 3000 found, 3000 repaired\n$/);
  assert.deepEqual(strays.filter(existsSync), []);
});

test('a repair is not advised for what it leaves', async () => {
  const stray = join(lcc.home, 'store', 'notes.txt');
  writeFileSync(stray, 'of a person');
  for (const option of ['', '--repair']) {
    const { status, stdout, stderr } = await fsck(`--quick ${option}`);
    assert.deepEqual(
      [status, stdout],
      [1, 'leftover\tnotes.txt\tnot a file of a store; move it elsewhere\n'],
    );
    assert.ok(option !== '' || stderr.endsWith(': 1 found, 0 repaired\n'), stderr);
  }
  unlinkSync(stray);
});

test('nor for names.db, which is to be moved away', async () => {
  const path = join(lcc.home, 'store/names.db');
  const whole = readFileSync(path);
  writeFileSync(path, 'no database'.repeat(1000));
  for (const option of ['', '--repair']) {
    const { status, stdout, stderr } = await fsck(`--quick ${option}`);
    assert.equal(status, 1);
    assert.ok(stdout.startsWith(`free-list\t${path}\tdamaged (`), stdout);
    assert.match(stdout, /stop lccd-bm and move it out of the store, with its -wal and -shm: [^\t\n]*\n$/);
    assert.match(stderr, /: 1 found, 0 repaired\n$/);
  }
  writeFileSync(path, whole);
});

test('a database damaged in the middle: readers say where and what to do; without its beginning: 78 until told to begin anew', async () => {
  const path = join(lcc.home, 'lcc.db');
  const db = openReadOnly(path);
  const page = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'lccurl'").pluck().get());
  db.close();
  const overwrite = (offset: number, bytes: number) => {
    const fd = openSync(path, 'r+');
    writeSync(fd, Buffer.alloc(bytes, 0xa5), 0, bytes, offset);
    closeSync(fd);
  };
  const whole = readFileSync(path);
  overwrite((page - 1) * 4096, 4096);
  const read = await lcc.sh('lccq');
  assert.deepEqual(
    [read.status, read.stderr],
    [
      74,
      `lccq: ${path}: database damaged (database disk image is malformed); stop lccd and run lccfsck --repair\n`,
    ],
  );
  const said = await fsck('--repair');
  assert.match(said.stdout, /^database\t.*\trepaired$/m);
  assert.match(said.stderr, /a new database has been started; .*pidb 1,.*lccurl 0/);
  writeFileSync(path, whole);
  overwrite(0, 100);
  const remedy =
    'put back a backup of it, or stop lccd and begin with nothing: lccfsck --repair --start-empty\n';
  assert.equal(
    (await lcc.sh('lccq')).stderr,
    `lccq: ${path}: database damaged (file is not a database); ${remedy}`,
  );
  const lost = await fsck('--repair');
  assert.equal(lost.status, 78);
  assert.ok(lost.stderr.endsWith(`damaged, and no provider can be read of it; ${remedy}`), lost.stderr);
  assert.match(
    readFileSync(`${path}.suspect`, 'utf8'),
    /lcc\.db showed damage: it is checked whole at the next/,
  );
  assert.equal((await fsck('--repair --start-empty')).status, 0);
  assert.equal(await lcc.run('lccpidb list'), '');
});

test('no LCC: 66; the store of another machine: 78', async () => {
  assert.equal((await fsck('', { LCC_HOME: join(lcc.home, 'nowhere') })).status, 66);
  const { status, stderr } = await fsck('--machineid=other');
  assert.equal(status, 78);
  assert.match(stderr, /the store of machine "local", not "other"/);
});
