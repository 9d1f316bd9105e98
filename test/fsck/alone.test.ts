import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { NamesDb } from '../../src/db/names/names.js';
import { fileIdOf } from '../../src/db/names/naming.js';
import { markStore } from '../../src/db/names/store-mark.js';
import { runFsck } from '../../src/fsck/run.js';
import { LccError } from '../../src/lib/errors.js';

describe('a store without an LCC DB beside it', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'lcc-alone-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const store = () => join(dir, 'store');
  const path = (fileId: string) => join(store(), fileId);
  function put(fileId: string): void {
    mkdirSync(dirname(path(fileId)), { recursive: true });
    writeFileSync(path(fileId), 'content');
  }
  async function fsck(repair: boolean): Promise<string[]> {
    const lines: string[] = [];
    await runFsck(
      {
        dbPath: join(dir, 'lcc.db'),
        storeDir: store(),
        machineId: 'm1',
        unsSpoolDir: join(dir, 'uns'),
        clearDir: '/nowhere',
        fsmSpoolDir: join(dir, 'fsm'),
        repair,
        quick: false,
        storeLost: false,
        startEmpty: false,
        shard: 0,
        restored: false,
        removeOrphans: false,
        recheck: false,
        nowMs: Date.now,
      },
      {
        found: ({ kind, where, repaired }) =>
          void lines.push(`${kind} ${where}${repaired ? ' repaired' : ''}`),
        note: () => undefined,
        advance: undefined,
      },
    );
    return lines.toSorted();
  }

  /** Eight names given out; of those the first is in its next generation and the last was never used. */
  function fill(): void {
    mkdirSync(store());
    markStore(store(), 'm1');
    const names = new NamesDb(join(store(), 'names.db'));
    const [first, ...others] = names.reserve(8);
    assert.ok(first);
    for (const name of others.slice(0, -1)) put(fileIdOf(name));
    names.note([{ name: first, atMs: 0 }]);
    names.free([first]);
    names.release(others.slice(-1));
    names.close();
  }

  it('is found sound, and nothing of it is touched', async () => {
    fill();
    assert.deepEqual(await fsck(true), []);
    assert.ok(existsSync(path('00/00/00000001.0')));
  });

  it('is rid of what a robot left and of files that a power cut brought back; a second run finds nothing', async () => {
    fill();
    put('00/00/00000000.0');
    put('00/00/00000007.0');
    put('00/00/00000002.0.17-3.tmp');
    const found = [
      'leftover 00/00/00000002.0.17-3.tmp',
      'orphan 00/00/00000000.0',
      'orphan 00/00/00000007.0',
    ];
    assert.deepEqual(await fsck(false), found);
    assert.deepEqual(
      await fsck(true),
      found.map(line => `${line} repaired`),
    );
    assert.deepEqual(await fsck(false), []);
    for (const kept of ['00/00/00000001.0', '00/00/00000006.0']) assert.ok(existsSync(path(kept)));
  });

  it('may have folders of others: what lies in them is told, and an empty one is no fault', async () => {
    fill();
    for (const folder of ['lost+found', 'old/none', '00/00/none'])
      mkdirSync(path(folder), { recursive: true });
    for (const strange of ['old/note', 'old/a/00000002.0.17-3.tmp', '00/00/a/note']) put(strange);
    const found = ['leftover 00/00/a/note', 'leftover old/a/00000002.0.17-3.tmp', 'leftover old/note'];
    assert.deepEqual(await fsck(false), found);
    assert.deepEqual(
      await fsck(true),
      found.map(line => (line.endsWith('.tmp') ? `${line} repaired` : line)),
    );
    assert.ok(!existsSync(path('old/a/00000002.0.17-3.tmp')));
    assert.ok(existsSync(path('old/note')));
  });

  it('never gives a name again that a file has', async () => {
    fill();
    put('00/00/00000063.0');
    assert.deepEqual(await fsck(true), ['free-list 00/00/00000063.0 repaired']);
    assert.deepEqual(await fsck(false), []);
    const names = new NamesDb(join(store(), 'names.db'));
    const given = names.reserve(3).map(({ id }) => id);
    names.close();
    assert.deepEqual(given, [0, 7, 100]);
  });

  it('is left alone while its Bot Manager runs', async () => {
    fill();
    const names = new NamesDb(join(store(), 'names.db'));
    await assert.rejects(
      fsck(false),
      (error: unknown) => error instanceof LccError && error.code === 'try.later',
    );
    names.close();
  });

  it('that is none is no LCC either', async () => {
    await assert.rejects(
      fsck(false),
      (error: unknown) => error instanceof LccError && error.code === 'input.missing',
    );
  });
});
