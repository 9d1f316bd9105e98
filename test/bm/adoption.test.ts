import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileIdOf } from '../../src/db/names/naming.js';
import { adopt } from '../../src/bm/adoption.js';
import { mountSmall } from '../support/disk.js';
import { until } from '../support/until.js';
import { newDir, open, write } from './store-scene.js';

const ROOMY = { minFree: { percent: 0, bytes: 0, whose: 'bm' } } as const;
const md5 = (content: string) => createHash('md5').update(content).digest('hex');

/** The stores of shards 0 and 1 on one machine. */
function pair(more: { machineId?: string } = {}) {
  const dir = newDir();
  const of = (shard: number, options = {}) =>
    open(join(dir, String(shard), 'store'), { ...ROOMY, ...options });
  for (const shard of [0, 1]) mkdirSync(join(dir, String(shard)));
  const { store: ours, clock } = of(1);
  return { dir, theirs: of(0, more).store, ours, clock };
}

function request(fileId: string, content: string, shard = 0) {
  return {
    kind: 'adopt',
    id: 1,
    machineId: 'm1',
    shard,
    fileId,
    md5: md5(content),
    len: content.length,
  } as const;
}

describe('content of another shard', () => {
  it('is here under a name of this store, the same file, and stays when the other store lets go of it', async () => {
    const { theirs, ours } = pair();
    const { path, fileId } = write(theirs, 'a page');
    const { status, fileId: here = '' } = await adopt(ours, request(fileId, 'a page'));
    assert.equal(status, 'ok');
    const file = join(ours.dir, here);
    assert.equal(statSync(file).ino, statSync(path).ino);
    theirs.close();
    assert.equal(readFileSync(file, 'utf8'), 'a page');
    const again = ours.take();
    assert.notEqual(again && fileIdOf(again), here, 'the name is taken');
    ours.close();
  });

  it('that is asked for again, for the answer was lost, has one file here', async () => {
    const { theirs, ours, clock } = pair();
    const { fileId } = write(theirs, 'a page');
    const { fileId: first = '' } = await adopt(ours, request(fileId, 'a page'));
    const { fileId: second = '' } = await adopt(ours, request(fileId, 'a page'));
    await until('the first has gone', () => {
      clock.advance(1000);
      return !existsSync(join(ours.dir, first));
    });
    assert.equal(readFileSync(join(ours.dir, second), 'utf8'), 'a page');
    assert.equal(readFileSync(join(theirs.dir, fileId), 'utf8'), 'a page');
    theirs.close();
    ours.close();
  });

  it('is found as well where home 0 was the only one, and the other lies in its folder', async () => {
    const dir = newDir();
    const first = open(join(dir, 'store'), ROOMY).store;
    mkdirSync(join(dir, '1'));
    const second = open(join(dir, '1', 'store'), ROOMY).store;
    const there = write(first, 'a page');
    const { status, fileId = '' } = await adopt(second, request(there.fileId, 'a page'));
    assert.equal(status, 'ok');
    assert.equal(statSync(join(second.dir, fileId)).ino, statSync(there.path).ino);
    const back = write(second, 'another page');
    assert.equal((await adopt(first, request(back.fileId, 'another page', 1))).status, 'ok');
    assert.equal(
      (await adopt(second, request(back.fileId, 'another page', 2))).status,
      'nowhere',
      'no home 2',
    );
    first.close();
    second.close();
  });

  it('on another file system is copied, and read once more', async t => {
    const { dir, theirs, ours } = pair();
    const { fileId } = write(theirs, 'a page');
    const folder = join(ours.dir, '00', '00');
    mkdirSync(folder, { recursive: true });
    const unmount = mountSmall(folder, '1m');
    if (unmount === undefined) return t.skip('no mount(2) here');
    try {
      const { status, fileId: here = '' } = await adopt(ours, request(fileId, 'a page'));
      assert.equal(status, 'ok');
      assert.equal(readFileSync(join(ours.dir, here), 'utf8'), 'a page');
      const { status: other } = await adopt(ours, { ...request(fileId, 'a pagf') });
      assert.equal(other, 'bad', 'the bytes are others');
      assert.ok(existsSync(dir));
    } finally {
      unmount();
      theirs.close();
      ours.close();
    }
  });

  it('is not had by what is no name of a store, of no shard, or leads elsewhere', async () => {
    const { dir, theirs, ours } = pair();
    const { fileId, path } = write(theirs, 'a page');
    writeFileSync(join(dir, 'secret'), 'secret');
    mkdirSync(join(theirs.dir, 'ab/cd'), { recursive: true });
    symlinkSync(join(dir, 'secret'), join(theirs.dir, 'ab/cd/00abcd00.0'));
    for (const [id, shard] of [
      ['../../secret', 0],
      ['/etc/hostname', 0],
      ['ab/cd/00abcd00.0', 0],
      ['00/00/00000fff.0', 0],
      [fileId, -1],
      [fileId, 900],
      [fileId, 7],
      [fileId, 0.5],
    ] as const)
      assert.equal(
        (await adopt(ours, request(id, id === fileId ? 'a page' : 'secret', shard))).status,
        shard === 7 || shard === 0.5 ? 'nowhere' : 'bad',
        `${id} of ${shard}`,
      );
    assert.equal((await adopt(ours, request(fileId, 'another length'))).status, 'bad');
    assert.ok(existsSync(dirname(path)));
    theirs.close();
    ours.close();
  });

  it('is not taken from the store of another machine', async () => {
    const { theirs, ours } = pair({ machineId: 'm2' });
    const { fileId } = write(theirs, 'a page');
    assert.equal((await adopt(ours, request(fileId, 'a page'))).status, 'nowhere');
    theirs.close();
    ours.close();
  });
});
