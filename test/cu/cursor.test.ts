import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, describe, it } from 'node:test';
import {
  advanceCursor,
  commitNext,
  cursorAt,
  dropNext,
  lockCursor,
  offerNext,
  readCursor,
  startOf,
} from '../../src/cu/cursor.js';
import { mountSmall } from '../support/disk.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-cursor-'));
after(() => rmSync(dir, { recursive: true }));
const STORE = '6f3f3c7e-3a0c-4b1c-9b57-5c4c1c2b0a11';
const OTHER = '00000000-3a0c-4b1c-9b57-5c4c1c2b0a11';
let files = 0;
const newFile = () => join(dir, `c${++files}`);

describe('a cursor', () => {
  it('is one line naming store and sequence', () => {
    const file = newFile();
    advanceCursor(file, { storeId: STORE, seq: 42 });
    assert.equal(readFileSync(file, 'utf8'), `lcc-cursor 1 ${STORE} 42\n`);
    assert.deepEqual(readCursor(file), { storeId: STORE, seq: 42 });
  });

  it('that does not exist yet means everything', () => {
    assert.equal(readCursor(newFile()), undefined);
    assert.equal(startOf('f', undefined, { storeId: STORE, highWater: 9, purged: 5 }), 0);
  });

  it('that is a directory is refused with what to do', () => {
    const message = `the cursor ${dir} is a directory; name a file, or a path where there is none yet`;
    for (const use of [readCursor, lockCursor]) assert.throws(() => use(dir), { code: 'io', message });
    assert.ok(!existsSync(`${dir}.lock`));
  });

  it('that is a named pipe is not waited for', () => {
    const pipe = newFile();
    assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
    const message = /^the cursor \S+ is a named pipe; name a file/;
    for (const use of [readCursor, lockCursor]) assert.throws(() => use(pipe), { code: 'io', message });
  });

  it('that is a circle of links is refused with what to do', () => {
    const [one, two] = [newFile(), newFile()];
    symlinkSync(two, one);
    symlinkSync(one, two);
    const message = `cursor ${one}: its symbolic links lead in a circle; name a file`;
    for (const use of [readCursor, lockCursor, commitNext])
      assert.throws(() => use(one), { code: 'io', message });
  });

  it('that finds no room is told with its name', t => {
    const small = mkdtempSync(join(dir, 'small-'));
    const unmount = mountSmall(small, '64k');
    if (unmount === undefined) return t.skip('mounting needs root');
    try {
      const file = join(small, 'c');
      writeFileSync(join(small, 'filler'), Buffer.alloc(64 * 1024));
      for (const move of [advanceCursor, offerNext])
        assert.throws(() => move(file, { storeId: STORE, seq: 1 }), {
          code: 'io.full',
          message: /^cannot write \S+\/c(\.next)?: no space left; free some and run again$/,
        });
    } finally {
      unmount();
    }
  });

  for (const [what, text] of [
    ['an empty file', ''],
    ['another version', `lcc-cursor 2 ${STORE} 42\n`],
    ['a line cut off', `lcc-cursor 1 ${STORE} 4`],
    ['something else', 'hello\n'],
  ] as const) {
    it(`is not read from ${what}`, () => {
      const file = newFile();
      writeFileSync(file, text);
      assert.throws(() => readCursor(file), { code: 'data.malformed', message: /full resync needed/ });
    });
  }

  for (const [what, cursor] of [
    ['of another store', { storeId: OTHER, seq: 7 }],
    ['ahead of the store', { storeId: STORE, seq: 10 }],
    ['older than the deletions remembered', { storeId: STORE, seq: 4 }],
  ] as const) {
    it(`${what} needs a full resync`, () =>
      assert.throws(() => startOf('f', cursor, { storeId: STORE, highWater: 9, purged: 5 }), {
        code: 'data.refused',
        message: new RegExp(`${what}.*full resync needed`),
      }));
  }

  it('of a first reading that goes on bears deletions from before it began to be forgotten, and no others', () => {
    const file = newFile();
    const cursor = { storeId: STORE, seq: 4, began: 7 };
    advanceCursor(file, { ...cursor, of: '--pid=7' });
    assert.equal(readFileSync(file, 'utf8'), `lcc-cursor 1 ${STORE} 4 7\nof --pid=7\n`);
    assert.deepEqual(readCursor(file), { ...cursor, of: '--pid=7' });
    assert.equal(startOf('f', cursor, { storeId: STORE, highWater: 9, purged: 7 }), 4);
    assert.throws(() => startOf('f', cursor, { storeId: STORE, highWater: 9, purged: 8 }), {
      code: 'data.refused',
    });
    assert.deepEqual(cursorAt(STORE, 7, 7), { storeId: STORE, seq: 7 });
  });

  it("exactly at the store's bounds is good", () => {
    const store = { storeId: STORE, highWater: 9, purged: 5 };
    assert.equal(startOf('f', { storeId: STORE, seq: 5 }, store), 5);
    assert.equal(startOf('f', { storeId: STORE, seq: 9 }, store), 9);
  });

  it('is used by one run at a time', () => {
    const file = newFile();
    const lock = lockCursor(file);
    assert.throws(() => lockCursor(file), { code: 'try.later' });
    lock.release();
    lockCursor(file).release();
  });

  it('is what a symbolic link leads to, also before it is there', () => {
    const file = newFile();
    const link = newFile();
    symlinkSync(basename(file), link);
    const lock = lockCursor(link);
    assert.throws(() => lockCursor(file), { code: 'try.later' });
    lock.release();
    advanceCursor(link, { storeId: STORE, seq: 1 });
    offerNext(link, { storeId: STORE, seq: 2 });
    assert.equal(commitNext(link).seq, 2);
    assert.equal(readCursor(file)?.seq, 2);
    assert.ok(lstatSync(link).isSymbolicLink());
    assert.ok(!existsSync(`${link}.lock`) && !existsSync(`${link}.next`));
  });

  it('is found from where a link really lies, by whatever way that was reached', () => {
    mkdirSync(join(dir, 'deep/down'), { recursive: true });
    symlinkSync('deep/down', join(dir, 'alias'));
    symlinkSync('../aim', join(dir, 'deep/down/link'));
    advanceCursor(join(dir, 'alias/link'), { storeId: STORE, seq: 3 });
    assert.equal(readCursor(join(dir, 'deep/aim'))?.seq, 3);
  });

  it('is refused by name on a disk that is read-only', t => {
    const disk = mkdtempSync(join(tmpdir(), 'lcc-cursor-'));
    const unmount = mountSmall(disk, '100k,ro');
    t.after(() => {
      unmount?.();
      rmSync(disk, { recursive: true });
    });
    if (unmount === undefined) return t.skip('mounting needs root');
    const file = join(disk, 'c');
    const why = 'its file system is read-only; name a file of another';
    const refused = (message: string) => ({ code: 'output.create', message });
    const link = newFile();
    symlinkSync(file, link);
    for (const name of [file, link])
      assert.throws(
        () => lockCursor(name),
        refused(`${name}: its directory ${disk} cannot be written: ${why}`),
      );
    assert.throws(() => advanceCursor(file, { storeId: STORE, seq: 1 }), refused(`${file}: ${why}`));
  });

  it('is refused by what a link leads to, where that has no directory', () => {
    const link = newFile();
    symlinkSync('nowhere/c', link);
    const message = `${dir}/nowhere: no such directory for a cursor`;
    assert.throws(() => lockCursor(link), { code: 'output.create', message });
  });

  it('says so where what waits to be committed is no file', () => {
    const file = newFile();
    mkdirSync(`${file}.next`);
    const message = `${file}.next: it is a directory; name a file`;
    assert.throws(() => dropNext(file), { code: 'output.create', message });
  });

  it('moves by commit only after a whole stream', () => {
    const file = newFile();
    advanceCursor(file, { storeId: STORE, seq: 1 });
    assert.throws(() => commitNext(file), { code: 'input.missing', message: /nothing to commit/ });
    offerNext(file, { storeId: STORE, seq: 5 });
    assert.deepEqual(readCursor(file), { storeId: STORE, seq: 1 });
    assert.equal(commitNext(file).seq, 5);
    assert.deepEqual(readCursor(file), { storeId: STORE, seq: 5 });
    assert.ok(!existsSync(`${file}.next`));
  });

  it('is not moved by what an earlier stream left', () => {
    const file = newFile();
    offerNext(file, { storeId: STORE, seq: 5 });
    dropNext(file);
    assert.throws(() => commitNext(file), { code: 'input.missing' });
    assert.equal(readCursor(file), undefined);
  });
});
