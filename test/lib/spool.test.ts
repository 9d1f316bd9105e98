import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs, { closeSync, openSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join, relative } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { errnoOf } from '../../src/lib/errors.js';
import { silentLog } from '../../src/lib/log.js';
import { openFilesLimit } from '../../src/lib/open-files.js';
import { Spool } from '../../src/lib/spool.js';
import { newDir, occupyThreads, open, put, SMALL_BYTES, verify } from './spools.js';

async function textOf(spool: Spool, id: string): Promise<string> {
  const pieces: Buffer[] = [];
  for (const piece of spool.read(id).content) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString();
}

/** Calls `synced` whenever the names of promised entries have been synced, with what counts them. */
function watchNames(t: TestContext, dir: string, synced: (count: () => number) => void): void {
  const real = fs.fsync;
  const watched = (fd: number, done: (error: NodeJS.ErrnoException | null) => void) => {
    const path = readlinkSync(`/proc/self/fd/${fd}`);
    real(fd, error => {
      if (path === join(dir, 'new')) synced(() => readdirSync(path).length);
      done(error);
    });
  };
  fs.fsync = watched as typeof real;
  syncBuiltinESMExports();
  t.after(() => {
    fs.fsync = real;
    syncBuiltinESMExports();
  });
}

/** Calls `about` whenever a file is about to be renamed. */
function beforeRenames(t: TestContext, about: () => void): void {
  const real = fs.renameSync;
  fs.renameSync = (from, to) => {
    about();
    real(from, to);
  };
  syncBuiltinESMExports();
  t.after(() => {
    fs.renameSync = real;
    syncBuiltinESMExports();
  });
}

function limitFiles(limit: number): void {
  execFileSync('prlimit', [`--pid=${process.pid}`, `--nofile=${limit === Infinity ? 'unlimited' : limit}:`]);
}

/** Leaves this process no descriptor but what it has open. @returns those that were free */
function takeAll(): number[] {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch (error) {
    assert.equal(errnoOf(error), 'EMFILE');
    return taken;
  }
}

/** Notes the parts of the spool that are listed; with `bad` entries more in bad/ than there are. */
function watchLists(t: TestContext, dir: string, bad: number): string[] {
  const listed: string[] = [];
  const aside = Array.from({ length: bad }, (_, i) => `${String(i + 1).padStart(15, '0')}-x`);
  const real = fs.readdirSync;
  fs.readdirSync = ((path: string) => {
    listed.push(relative(dir, path));
    return path === join(dir, 'bad') ? aside : real(path);
  }) as typeof real;
  syncBuiltinESMExports();
  t.after(() => {
    fs.readdirSync = real;
    syncBuiltinESMExports();
  });
  return listed;
}

describe('a spool', () => {
  it('gives back what was written, whatever its characters and however it was cut', async () => {
    const spool = open(newDir());
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 50_000 }), { maxLength: 8 }),
        async texts => {
          const { id, bytes } = await put(spool, 'x', ...texts);
          assert.deepEqual(verify(spool, id), { label: 'x' });
          assert.equal(await textOf(spool, id), texts.join(''));
          const small = spool.readSmall(spool.entries[0] ?? assert.fail());
          assert.equal(small === undefined, bytes > SMALL_BYTES);
          if (small !== undefined) assert.equal(Buffer.concat(small.content).toString(), texts.join(''));
          await spool.remove(id);
        },
      ),
      { numRuns: 30 },
    );
    spool.close();
  });

  it('keeps entries in the order of their commits, not of their beginnings', async () => {
    const dir = newDir();
    const spool = open(dir);
    const first = spool.create({});
    const second = spool.create({});
    first.write('1');
    second.write('2');
    await second.commit('second');
    await first.commit('first');
    const labels = spool.entries.map(({ label }) => label);
    assert.deepEqual(labels, ['second', 'first']);
    spool.close();
    const again = open(dir);
    assert.deepEqual(
      again.entries.map(({ label }) => label),
      ['second', 'first'],
    );
    again.close();
  });

  it('never gives an id twice, not even when it was empty in between', async () => {
    const dir = newDir();
    const ids = new Set<string>();
    for (let opening = 0; opening < 3; opening++) {
      const spool = open(dir);
      for (let i = 0; i < 3; i++) {
        const { id } = await put(spool, 'same', 'x');
        assert.ok(!ids.has(id), `${id} was given before`);
        ids.add(id);
        await spool.remove(id);
      }
      spool.close();
    }
    assert.deepEqual([...ids].sort(), [...ids]);
  });

  it('goes on far beyond what it holds, and says so once, when its sequence is no number', async () => {
    for (const damage of [randomBytes(5000), Buffer.alloc(0), Buffer.alloc(8), Buffer.from('-12\n')]) {
      const dir = newDir();
      const before = open(dir);
      const held = await put(before, 'held', 'x');
      await before.remove((await put(before, 'gone', 'x')).id);
      before.close();
      writeFileSync(join(dir, 'sequence'), damage);

      const said: unknown[] = [];
      const log = { ...silentLog, error: (_: string, fields?: object) => void said.push(fields) };
      const spool = new Spool({ dir, steps: 'test.spool', fail: error => assert.fail(String(error)), log });
      const { id } = await put(spool, 'next', 'x');
      assert.ok(id > `${held.id.slice(0, 12)}999`, id);
      assert.deepEqual(
        spool.entries.map(({ label }) => label),
        ['held', 'next'],
      );
      spool.close();
      const [line] = said;
      assert.deepEqual([said.length, (line as { path?: string }).path], [1, join(dir, 'sequence')]);
      const again = open(dir);
      assert.ok((await put(again, 'later', 'x')).id > id);
      again.close();
    }
  });

  it('has an id of its own that stays', () => {
    const dir = newDir();
    const first = open(dir);
    first.close();
    const again = open(dir);
    const other = open(newDir());
    assert.equal(again.id, first.id);
    assert.notEqual(other.id, first.id);
    again.close();
    other.close();
  });

  it('is served by one at a time', () => {
    const dir = newDir();
    const spool = open(dir);
    assert.throws(() => open(dir), { code: 'try.later', message: /served by another process/ });
    spool.close();
    open(dir).close();
  });

  it('removes what was not committed, at once or at the next start', async () => {
    const dir = newDir();
    const spool = open(dir);
    const aborted = spool.create({});
    aborted.write('x'.repeat(300_000));
    assert.ok(spool.bytes > 0);
    await aborted.abort();
    assert.equal(spool.bytes, 0);
    assert.deepEqual(readdirSync(join(dir, 'tmp')), []);
    writeFileSync(join(dir, 'tmp/left'), 'left over by a crash');
    spool.close();
    const again = open(dir);
    assert.deepEqual(readdirSync(join(dir, 'tmp')), []);
    assert.deepEqual(again.entries, []);
    again.close();
  });

  it('counts the bytes of its entries, also after it was opened again', async () => {
    const dir = newDir();
    const spool = open(dir);
    const entry = await put(spool, 'a', 'x'.repeat(200_000));
    await put(spool, 'b', 'y');
    const { bytes } = spool;
    assert.ok(bytes > 200_000);
    spool.close();
    const again = open(dir);
    assert.equal(again.bytes, bytes);
    await again.remove(entry.id);
    assert.equal(again.bytes, bytes - entry.bytes);
    again.close();
  });

  it('serves others while the file of an entry is made or removed, which takes a busy disk its time', async () => {
    const dir = newDir();
    const spool = open(dir);
    const gone = await put(spool, 'gone', 'x');
    const release = occupyThreads(dir);
    const made = put(spool, 'made', 'x');
    const removed = spool.remove(gone.id);
    await new Promise(setImmediate);
    const before = [readdirSync(join(dir, 'tmp')), readdirSync(join(dir, 'new'))];
    await release();
    const [{ id }] = await Promise.all([made, removed]);
    assert.deepEqual(before, [[], [gone.id]]);
    assert.deepEqual([readdirSync(join(dir, 'tmp')), readdirSync(join(dir, 'new'))], [[], [id]]);
    spool.close();
  });

  it('sets an entry aside for a person to look at', async () => {
    const dir = newDir();
    const spool = open(dir);
    const { id } = await put(spool, 'bad', 'x');
    spool.setAside(id);
    assert.deepEqual(readdirSync(join(dir, 'bad')), [id]);
    assert.deepEqual([spool.entries.length, spool.bytes], [0, 0]);
    assert.deepEqual(spool.aside, { entries: 1, foreign: 0 });
    spool.close();
  });

  it('sets aside what is no entry when it is opened, and tells it once', async () => {
    const dir = newDir();
    const first = open(dir);
    const { id } = await put(first, 'mine', 'x');
    first.close();
    writeFileSync(join(dir, 'new', 'README'), 'foreign');
    const told: unknown[] = [];
    const log = {
      ...silentLog,
      error: (event: string, fields?: object) => void told.push({ event, ...fields }),
    };
    const openTold = () => new Spool({ dir, steps: 'test.spool', fail: () => undefined, log });
    for (let time = 0; time < 2; time++) {
      const spool = openTold();
      assert.deepEqual(readdirSync(join(dir, 'new')), [id]);
      assert.deepEqual(readdirSync(join(dir, 'bad')), ['README']);
      assert.equal(spool.entries.length, 1);
      assert.deepEqual(spool.aside, { entries: 0, foreign: 1 });
      spool.close();
    }
    assert.deepEqual(told, [
      { event: 'foreign file in a spool: set aside', path: join(dir, 'new', 'README') },
    ]);
  });

  it('lists its directories once when it is opened, however many entries they hold', async t => {
    const dir = newDir();
    const first = open(dir);
    const { id } = await put(first, 'mine', 'x');
    first.close();
    const listed = watchLists(t, dir, 200_000);
    const spool = open(dir);
    assert.deepEqual(
      spool.entries.map(entry => entry.id),
      [id],
    );
    assert.deepEqual(listed.sort(), ['bad', 'new', 'tmp']);
    assert.ok((await put(spool, 'next', 'x')).id > '000000000200000');
    spool.close();
  });

  it('is promised only when its name was synced', async t => {
    const dir = newDir();
    const spool = open(dir);
    const seen: string[] = [];
    watchNames(t, dir, count => seen.push(`${count()} names synced`));
    await put(spool, 'x', 'text');
    seen.push('promised');
    assert.deepEqual(seen, ['1 names synced', 'promised']);
    spool.close();
  });

  it('is promised, its name synced, also where no descriptor is left by then', async t => {
    const dir = newDir();
    const failures: unknown[] = [];
    let taken: number[] = [];
    let isTaking = false;
    beforeRenames(t, () => {
      if (isTaking) taken = takeAll();
      isTaking = false;
    });
    const fail = (error: unknown) => void failures.push(error);
    const spool = new Spool({ dir, steps: 'test.spool', fail });
    let syncs = 0;
    watchNames(t, dir, () => (syncs += 1));
    // The first one raises the sequence, which takes a file.
    await put(spool, 'first', 'x');
    const before = openFilesLimit();
    limitFiles(256);
    isTaking = true;
    try {
      assert.equal((await put(spool, 'second', 'x')).label, 'second');
      assert.ok(taken.length > 0);
    } finally {
      for (const fd of taken) closeSync(fd);
      limitFiles(before);
    }
    assert.deepEqual([failures, syncs], [[], 2]);
    spool.close();
  });

  it('names many entries with one sync of the directory, and answers all', async t => {
    const dir = newDir();
    const spool = open(dir);
    await put(spool, 'first', 'x');
    let syncs = 0;
    watchNames(t, dir, () => (syncs += 1));
    const entries = await Promise.all(Array.from({ length: 20 }, (_, i) => put(spool, `n${i}`, 'x')));
    assert.equal(new Set(entries.map(({ id }) => id)).size, 20);
    assert.equal(spool.entries.length, 21);
    assert.equal(syncs, 1);
    spool.close();
  });

  it('holds small entries in memory until they end, but not many of them', async () => {
    const dir = newDir();
    const spool = open(dir);
    const files = () => readdirSync(join(dir, 'tmp')).length;
    const writers = Array.from({ length: 200 }, () => spool.create({}));
    for (const writer of writers.slice(0, 60)) writer.write('x'.repeat(32 * 1024));
    assert.equal(files(), 0);
    assert.ok(spool.bytes >= 60 * 32 * 1024);
    for (const writer of writers.slice(60)) writer.write('x'.repeat(32 * 1024));
    assert.ok(files() >= 200 - 2 * 32 && files() < 200, `${files()} files`);
    await Promise.all(writers.map(writer => writer.abort()));
    assert.deepEqual([files(), spool.bytes], [0, 0]);
    const big = spool.create({});
    big.write('x'.repeat(33 * 1024));
    assert.equal(files(), 1);
    await big.abort();
    assert.deepEqual([files(), spool.bytes], [0, 0]);
    spool.close();
  });
});

describe('a failed sync', () => {
  it('ends the process, and the entry is not promised', async () => {
    const dir = newDir();
    const failures: unknown[] = [];
    const spool = new Spool({ dir, steps: 'test.spool', fail: error => void failures.push(error) });
    const writer = spool.create({});
    writer.write('x');
    await writer.drained();
    // What is written to /dev/null can be written but not synced.
    const fd = readdirSync('/proc/self/fd')
      .map(Number)
      .find(number => linkOf(number).startsWith(join(dir, 'tmp')));
    assert.ok(fd !== undefined);
    closeSync(fd);
    assert.equal(openSync('/dev/null', 'w'), fd);
    await assert.rejects(writer.commit('x'), { code: 'io' });
    assert.equal(failures.length, 1);
    assert.deepEqual([spool.entries.length, spool.bytes, readdirSync(join(dir, 'new'))], [0, 0, []]);
    spool.close();
  });

  function linkOf(fd: number): string {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  }
});
