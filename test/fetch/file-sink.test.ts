import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs, { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { FileSink } from '../../src/fetch/file-sink.js';
import { mountSmall } from '../support/disk.js';
import { answer, fetchOnce, filesBelow, newEngine, newFolder, rawServer, verdict } from './support.js';

describe('a store that does not take content', () => {
  const full = mountSmallDisk();

  it('makes the directories that are missing and replaces a file', async () => {
    const folder = newFolder();
    const file = join(folder, 'a/b/c');
    const server = await rawServer((socket, _request, nth) => void socket.write(answer(`version ${nth}`)));
    for (const version of [1, 2]) {
      await fetchOnce(newEngine(), { url: server.url, file });
      assert.equal(readFileSync(file, 'utf8'), `version ${version}`);
    }
    assert.deepEqual(filesBelow(folder), ['c']);
  });

  for (const [size, name] of [
    [60_000, 'small'],
    [900_000, 'large'],
  ] as const) {
    const content = randomBytes(size);

    it(`is code 613 when there is a directory in the way of ${name} content`, async () => {
      const folder = newFolder();
      mkdirSync(join(folder, 'dir'));
      const server = await rawServer(socket => void socket.write(answer(content)));
      const outcome = await fetchOnce(newEngine(), { url: server.url, file: join(folder, 'dir') });
      assert.ok(outcome.status === 'error' && outcome.code === 613 && outcome.reach === 'provider');
      assert.match(outcome.message, /cannot write .*EISDIR/);
      assert.deepEqual(filesBelow(folder), []);
    });

    it(`is code 613 when ${name} content goes below a file`, async () => {
      const folder = newFolder();
      writeFileSync(join(folder, 'file'), 'x');
      const server = await rawServer(socket => void socket.write(answer(content)));
      const outcome = await fetchOnce(newEngine(), { url: server.url, file: join(folder, 'file/below') });
      assert.equal(verdict(outcome), 613);
      assert.deepEqual(filesBelow(folder), ['file']);
    });

    it(`is code 613 when the disk is full for ${name} content`, { skip: full === undefined }, async () => {
      const server = await rawServer(socket => void socket.write(answer(content)));
      const outcome = await fetchOnce(newEngine(), { url: server.url, file: join(full ?? '', 'file') });
      assert.ok(outcome.status === 'error' && outcome.code === 613 && outcome.reach === 'url');
      assert.match(outcome.message, /ENOSPC/);
      assert.deepEqual(filesBelow(full ?? ''), []);
    });
  }
});

/** Notes what is renamed, and to what. */
function watchRenames(t: TestContext): string[] {
  const { renameSync } = fs;
  const seen: string[] = [];
  const noted = (from: fs.PathLike, to: fs.PathLike) => {
    seen.push(String(to));
    renameSync(from, to);
  };
  Object.assign(fs, { renameSync: noted });
  syncBuiltinESMExports();
  t.after(() => {
    Object.assign(fs, { renameSync });
    syncBuiltinESMExports();
  });
  return seen;
}

describe('the name of a file', () => {
  const put = (path: string, pieces: readonly Uint8Array[], attempt = 'a') => {
    const sink = new FileSink(path, attempt);
    for (const piece of pieces) sink.write(piece);
    return { sink, finish: () => sink.commit() };
  };

  for (const pieces of [1, 3])
    it(`is that of small content from the beginning (${pieces} pieces): nothing is renamed`, t => {
      const renamed = watchRenames(t);
      const folder = newFolder();
      const content = Array.from({ length: pieces }, () => randomBytes(4096));
      put(join(folder, 'ab/page'), content).finish();
      assert.deepEqual(renamed, []);
      assert.deepEqual(filesBelow(folder), ['page']);
      assert.ok(readFileSync(join(folder, 'ab/page')).equals(Buffer.concat(content)));
    });

  it('is that of large content when it is complete, and not before', t => {
    const renamed = watchRenames(t);
    const folder = newFolder();
    const path = join(folder, 'page');
    const { finish } = put(path, [randomBytes(300_000)]);
    assert.deepEqual(filesBelow(folder), ['page.a.tmp']);
    finish();
    assert.deepEqual(renamed, [path]);
    assert.deepEqual(filesBelow(folder), ['page']);
  });

  for (const [what, half] of [
    ['half', 'new con'],
    ['more', 'new content and what was there besides'],
    ['nothing', ''],
  ] as const)
    it(`held ${what} of another attempt: what comes now replaces it whole`, () => {
      const folder = newFolder();
      const path = join(folder, 'page');
      writeFileSync(path, half);
      const reader = fs.openSync(path, 'r');
      put(path, [Buffer.from('new content')], 'b').finish();
      assert.equal(readFileSync(path, 'utf8'), 'new content');
      assert.equal(readFileSync(reader, 'utf8'), half, 'the file of others was written to');
      fs.closeSync(reader);
      assert.deepEqual(filesBelow(folder), ['page']);
    });

  it('that leads elsewhere is replaced, and nothing is written there', () => {
    const folder = newFolder();
    const [path, target] = [join(folder, 'page'), join(folder, 'target')];
    symlinkSync(target, path);
    put(path, [Buffer.from('content')]).finish();
    assert.deepEqual(filesBelow(folder), ['page']);
    assert.ok(fs.lstatSync(path).isFile());
  });

  it('is free again when its content cannot be written', t => {
    const folder = newFolder();
    const path = join(folder, 'page');
    const { writeSync } = fs;
    const restore = () => {
      Object.assign(fs, { writeSync });
      syncBuiltinESMExports();
    };
    t.after(restore);
    Object.assign(fs, {
      writeSync() {
        throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
      },
    });
    syncBuiltinESMExports();
    assert.throws(put(path, [Buffer.from('content')]).finish, /ENOSPC/);
    assert.deepEqual(filesBelow(folder), []);
    restore();
    put(path, [Buffer.from('content')]).finish();
    assert.equal(readFileSync(path, 'utf8'), 'content');
  });
});

/** A file system of a few pages; undefined where only root could make one. */
function mountSmallDisk(): string | undefined {
  const folder = newFolder();
  const unmount = mountSmall(folder, '16k');
  if (unmount === undefined) return undefined;
  after(unmount);
  return folder;
}
