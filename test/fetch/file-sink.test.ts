import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
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

/** A file system of a few pages; undefined where only root could make one. */
function mountSmallDisk(): string | undefined {
  const folder = newFolder();
  const unmount = mountSmall(folder, '16k');
  if (unmount === undefined) return undefined;
  after(unmount);
  return folder;
}
