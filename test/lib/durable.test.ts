import assert from 'node:assert/strict';
import fs, {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  makeDirectory,
  makeDirectoryDurably,
  renameDurably,
  syncDirectory,
  writeAll,
  writeFileDurably,
} from '../../src/lib/durable.js';

function scratch(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-durable-'));
  t.after(() => rmSync(dir, { recursive: true }));
  return dir;
}

/**
 * Lets `fs` work as ever but notes what is done to which file, in order; `failing` names a call that gets EIO instead.
 * The order is the promise: kill -9 cannot show that an fsync happened.
 */
function watchFiles(t: TestContext, failing?: string): string[] {
  const { openSync, writeSync, fsyncSync, renameSync, mkdirSync } = fs;
  const real = { openSync, writeSync, fsyncSync, renameSync, mkdirSync };
  const nameOfFd = new Map<number, string>();
  const seen: string[] = [];
  const note = (call: string) => {
    seen.push(call);
    if (call === failing) throw Object.assign(new Error(`EIO: i/o error, ${call}`), { code: 'EIO' });
  };
  Object.assign(fs, {
    openSync(path: string, flags: string | number, mode?: number) {
      const fd = real.openSync(path, flags, mode);
      nameOfFd.set(fd, basename(path).replace(/\.\d+\.tmp$/, '.PID.tmp'));
      return fd;
    },
    writeSync(fd: number, data: Uint8Array, offset: number, length: number) {
      note(`write ${nameOfFd.get(fd)}`);
      return real.writeSync(fd, data, offset, length);
    },
    fsyncSync(fd: number) {
      note(`fsync ${nameOfFd.get(fd)}`);
      real.fsyncSync(fd);
    },
    renameSync(from: string, to: string) {
      note(`rename ${basename(to)}`);
      real.renameSync(from, to);
    },
    mkdirSync(path: string, options: { recursive: true; mode: number }) {
      note(`mkdir ${basename(path)}`);
      return real.mkdirSync(path, options);
    },
  });
  syncBuiltinESMExports();
  t.after(() => {
    Object.assign(fs, real);
    syncBuiltinESMExports();
  });
  return seen;
}

test('a file is written, synced, renamed into place, and its directory synced, in this order', t => {
  const dir = scratch(t);
  const seen = watchFiles(t);
  writeFileDurably(join(dir, 'cursor'), 'seven\n');
  assert.deepEqual(seen, [
    'write cursor.PID.tmp',
    'fsync cursor.PID.tmp',
    'rename cursor',
    `fsync ${basename(dir)}`,
  ]);
  assert.equal(readFileSync(join(dir, 'cursor'), 'utf8'), 'seven\n');
  assert.deepEqual(readdirSync(dir), ['cursor']);
});

test('keeps the old file, whole, when writing or syncing the new one fails', t => {
  const dir = scratch(t);
  writeFileSync(join(dir, 'state'), 'old');
  watchFiles(t, 'fsync state.PID.tmp');
  assert.throws(() => writeFileDurably(join(dir, 'state'), 'new'), { code: 'EIO' });
  assert.equal(readFileSync(join(dir, 'state'), 'utf8'), 'old');
});

test('a failed fsync is passed on and never tried again', t => {
  const dir = scratch(t);
  const seen = watchFiles(t, `fsync ${basename(dir)}`);
  assert.throws(() => writeFileDurably(join(dir, 'state'), 'new'), { code: 'EIO' });
  assert.equal(seen.filter(call => call === `fsync ${basename(dir)}`).length, 1);
});

test('leaves no temporary file behind when it fails', t => {
  const dir = scratch(t);
  watchFiles(t, 'fsync state.PID.tmp');
  assert.throws(() => writeFileDurably(join(dir, 'state'), 'new'), { code: 'EIO' });
  assert.deepEqual(readdirSync(dir), []);
});

test('a new file has the mode asked for', t => {
  const path = join(scratch(t), 'password');
  writeFileDurably(path, 'secret', 0o600);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test('a rename syncs the directory of the new name', t => {
  const dir = scratch(t);
  for (const name of ['tmp', 'new']) fs.mkdirSync(join(dir, name));
  writeFileSync(join(dir, 'tmp/1'), '');
  const seen = watchFiles(t);
  renameDurably(join(dir, 'tmp/1'), join(dir, 'new/1'));
  assert.deepEqual(seen, ['rename 1', 'fsync new']);
});

test('every directory made on the way has its name synced in its parent', t => {
  const dir = scratch(t);
  const seen = watchFiles(t);
  makeDirectoryDurably(join(dir, 'a/b/c'));
  assert.ok(existsSync(join(dir, 'a/b/c')));
  const syncs = () => seen.filter(call => call.startsWith('fsync'));
  assert.deepEqual(syncs().sort(), [`fsync ${basename(dir)}`, 'fsync a', 'fsync b'].sort());
  makeDirectoryDurably(join(dir, 'a/b/c'));
  assert.equal(syncs().length, 3, 'nothing new, nothing to sync');
});

test('where no directory can be made the attempt ends, and says where', t => {
  const dir = scratch(t);
  writeFileSync(join(dir, 'file'), '');
  for (const path of ['/proc/lcc/a/b', join(dir, 'file'), join(dir, 'file/below')])
    assert.throws(() => makeDirectory(path), { code: 'output.create', message: /^\/.*director/ }, path);
  assert.equal(makeDirectory(dir), undefined);
});

test('a directory that is none cannot be synced', t => {
  const path = join(scratch(t), 'file');
  writeFileSync(path, '');
  assert.throws(() => syncDirectory(path), { code: 'ENOTDIR' });
});

test('goes on after a short write until everything is written', t => {
  const path = join(scratch(t), 'short');
  const real = fs.writeSync;
  fs.writeSync = ((fd: number, data: Uint8Array, offset: number, length: number) =>
    real(fd, data, offset, Math.min(length, 3))) as typeof fs.writeSync;
  syncBuiltinESMExports();
  t.after(() => {
    fs.writeSync = real;
    syncBuiltinESMExports();
  });
  const fd = fs.openSync(path, 'w');
  writeAll(fd, Buffer.from('0123456789'));
  fs.closeSync(fd);
  assert.equal(readFileSync(path, 'utf8'), '0123456789');
});
