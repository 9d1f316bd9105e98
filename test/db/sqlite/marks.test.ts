import assert from 'node:assert/strict';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { forgetMarks, Marks, newestMark } from '../../../src/db/sqlite/marks.js';
import { openDatabase, openReadOnly } from '../../../src/db/sqlite/open.js';
import { beginAnew, hasVanished, wentBack } from '../../../src/db/sqlite/restored.js';
import { silentLog } from '../../../src/lib/log.js';
import { onStep } from '../../../src/lib/steps.js';
import { ManualClock } from '../../support/manual-clock.js';
import { Bench, url } from '../../qm/support.js';
import { until } from '../../support/until.js';

let bench: Bench;
let clock: ManualClock;
let marks: Marks;
let warnings: string[];
let noted: () => void;

beforeEach(() => {
  bench = new Bench();
  bench.provider(7);
  // Since it was made the file has been written to: else nobody believes that its system knows when that was.
  bench.db.pragma('wal_checkpoint(TRUNCATE)');
  clock = new ManualClock();
  warnings = [];
  noted = () => undefined;
  onStep(name => void (name === 'qm.mark.noted' && noted()));
  marks = serve();
});
afterEach(() => {
  onStep(() => undefined);
  bench.close();
});

function serve(): Marks {
  const log = { ...silentLog, warn: (event: string) => void warnings.push(event) };
  const made = new Marks(bench.db, bench.path, { clock, log, failed: () => false });
  made.start();
  return made;
}

const files = () => readdirSync(bench.dir).filter(name => name.startsWith('lcc.db.last'));
const counter = () => bench.value("SELECT value FROM counter WHERE name = 'mark'");
const wrong = () => wentBack(bench.db, bench.path);

async function commit(name: string): Promise<void> {
  await bench.send(7, [url(name)]);
  marks.committed();
}

/** What was committed is marked. */
async function mark(): Promise<void> {
  const done = new Promise<void>(resolve => (noted = resolve));
  clock.advance(1000);
  await done;
}

test('what is committed is marked a second later, once, and an LCC that rests marks nothing', async () => {
  assert.deepEqual(files(), ['lcc.db.last-0']);
  clock.advance(3_600_000);
  assert.equal(counter(), 0);
  for (const name of ['a', 'b', 'c']) await commit(name);
  clock.advance(999);
  assert.equal(counter(), 0);
  clock.advance(1);
  await new Promise<void>(resolve => (noted = resolve));
  assert.deepEqual([counter(), files()], [1, ['lcc.db.last-0', 'lcc.db.last-1']]);
  clock.advance(3_600_000);
  assert.equal(counter(), 1);
});

test('no mark is ahead of what another process reads of the database', async () => {
  for (const name of ['a', 'b', 'c']) {
    await commit(name);
    const done = new Promise<void>(resolve => {
      noted = () => {
        const db = openReadOnly(bench.path);
        const committed = db.prepare("SELECT value FROM counter WHERE name = 'mark'").pluck().get();
        db.close();
        assert.equal(newestMark(bench.path)?.number, committed);
        resolve();
      };
    });
    clock.advance(1000);
    await done;
    assert.equal(wrong(), undefined);
  }
});

test('a copy from before the last mark is noticed, though all files of one were copied over', async () => {
  await commit('a');
  await mark();
  const copy = join(bench.dir, 'copy');
  mkdirSync(copy);
  bench.db.pragma('wal_checkpoint(TRUNCATE)');
  for (const name of ['lcc.db', ...files()]) copyFileSync(join(bench.dir, name), join(copy, name));
  await commit('b');
  await mark();
  bench.db.close();
  for (const name of readdirSync(copy)) copyFileSync(join(copy, name), join(bench.dir, name));
  bench.db = openDatabase(bench.path);
  assert.deepEqual(files(), ['lcc.db.last-0', 'lcc.db.last-1', 'lcc.db.last-2']);
  assert.match(wrong() ?? '', /^an older copy was put back \(it lacks what was noted since\); .*--restored$/);
});

test('another file in the place of one that was served is noticed; after a stop in good order it is not asked for', async () => {
  await commit('a');
  await mark();
  const replace = () => {
    bench.db.pragma('wal_checkpoint(TRUNCATE)');
    bench.db.close();
    copyFileSync(bench.path, `${bench.path}.copy`);
    utimesSync(`${bench.path}.copy`, 1, 1);
    renameSync(`${bench.path}.copy`, bench.path);
    bench.db = openDatabase(bench.path);
  };
  assert.match(newestMark(bench.path)?.made ?? '', /^\d+$/, 'a file system that knows when a file was made');
  replace();
  assert.match(wrong() ?? '', /^a copy was put in its place after its Queue Manager had been killed/);
  forgetMarks(bench.path);
  marks = serve();
  marks.stop();
  replace();
  assert.equal(wrong(), undefined);
});

test('a copy of the folder, file by file, in the order of its names while marks are written has one of them', async () => {
  await commit('a');
  await mark();
  const listed = files();
  await commit('b');
  await mark();
  assert.equal(listed.filter(name => files().includes(name)).length, 1);
});

test('another database is noticed; one that began anew, or was never served, is not', async () => {
  await commit('a');
  await mark();
  bench.db.transaction(() => beginAnew(bench.db, 'restored from a backup'))();
  assert.match(wrong() ?? '', /^another database than the one served last/);
  forgetMarks(bench.path);
  assert.deepEqual([wrong(), files()], [undefined, []]);
});

test('what is committed as it stops is marked, and an older copy noticed then, too', async () => {
  await commit('a');
  const before = Number(counter());
  marks.stop();
  assert.deepEqual(files(), [`lcc.db.last-${before}`, `lcc.db.last-${before + 1}`]);
  assert.match(readFileSync(join(bench.dir, files()[1] ?? ''), 'utf8'), /\nstopped\n$/);
  assert.equal(wrong(), undefined);
  bench.db.exec("UPDATE counter SET value = value - 1 WHERE name = 'mark'");
  assert.match(wrong() ?? '', /^an older copy/);
});

test('what a crash left of writing a mark is no mark, and goes with the next', async () => {
  writeFileSync(join(bench.dir, 'lcc.db.last-9.123.tmp'), 'half');
  assert.equal(wrong(), undefined);
  await commit('a');
  for (let i = 0; i < 11; i++) {
    await commit(`${i}`);
    await mark();
  }
  assert.deepEqual(files(), ['lcc.db.last-10', 'lcc.db.last-11']);
});

test('that no mark can be written is said once, and nothing waits for it', async () => {
  const dir = join(bench.dir, 'lcc.db.last-1');
  mkdirSync(dir);
  writeFileSync(join(dir, 'in the way'), '');
  await commit('a');
  clock.advance(1000);
  await until('it is said', () => warnings.length > 0);
  marks.stop();
  assert.deepEqual(warnings, ['cannot write the mark beside the database']);
  rmSync(dir, { recursive: true });
});

test('a database that is empty or gone is one that was served', () => {
  assert.equal(hasVanished(bench.path), undefined);
  bench.db.close();
  writeFileSync(bench.path, '');
  assert.match(hasVanished(bench.path) ?? '', /^empty, though it was served until its change \d+$/);
  rmSync(bench.path);
  assert.match(hasVanished(bench.path) ?? '', /^not there/);
  forgetMarks(bench.path);
  assert.equal(hasVanished(bench.path), undefined);
  bench.db = openDatabase(bench.path);
});
