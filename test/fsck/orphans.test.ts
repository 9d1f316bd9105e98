import assert from 'node:assert/strict';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { NamesDb } from '../../src/db/names/names.js';
import { fileIdOf as fileIdOfName } from '../../src/db/names/naming.js';
import { Spool } from '../../src/lib/spool.js';
import { exec, fileIdOf, fsck, heals, kindsOf, lcc, looked, store, withDb, withNames } from './checked.js';

test('files without rows that are most of the store stay, until it is said that they shall go', async () => {
  const names = Array.from({ length: 101 }, (_, i) => fileIdOfName({ id: 1000 + i, gen: 0 }));
  for (const name of names) {
    mkdirSync(join(store(), name, '..'), { recursive: true });
    writeFileSync(join(store(), name), 'x');
  }
  const [told, ...listed] = await fsck();
  assert.equal(listed.length, 101);
  assert.ok(
    listed.every(({ remains }) => remains),
    'a repair is not advised that would leave them',
  );
  const [finding, ...more] = await fsck('repair');
  assert.deepEqual([more, finding], [[], told], 'what a repair says is said before it');
  assert.equal(finding?.repaired, false);
  assert.match(finding.what, /^no row points to 101 of 113 files, none is removed; .*--remove-orphans$/);
  const [restored] = (await fsck('repair', 'restored')).filter(({ kind }) => kind === 'orphan');
  assert.match(
    restored?.what ?? '',
    /none is removed: lcc\.db was put back .*--remove-orphans, .* fetched again$/,
  );
  assert.doesNotMatch(restored?.what ?? '', /put back a backup/);
  assert.ok(names.every(name => existsSync(join(store(), name))));
  const removed = await fsck('repair', 'removeOrphans');
  assert.deepEqual([...new Set(kindsOf(removed))], ['orphan']);
  assert.equal(removed.length, 101);
  assert.deepEqual(await fsck(), []);
});

describe('files without rows', () => {
  test('orphans go, and so does what robots left half-written; what a person put there stays', async () => {
    const folder = fileIdOf('page-1.html').slice(0, 6);
    writeFileSync(join(store(), folder, '000000ff.7'), 'x');
    writeFileSync(join(store(), folder, '000000fe.0.3.tmp'), 'x');
    await heals(['orphan', 'leftover'], /00000/);
    mkdirSync(join(store(), 'mine'));
    writeFileSync(join(store(), folder, 'README'), 'x');
    assert.deepEqual(
      (await fsck('repair')).map(({ kind, where, repaired }) => `${kind} ${where} ${repaired}`).toSorted(),
      [`leftover ${folder}README false`, 'leftover mine false'],
    );
    rmSync(join(store(), 'mine'), { recursive: true });
    rmSync(join(store(), folder, 'README'));
  });

  test('files whose deletion waits are no orphans, and told of by their number', async () => {
    const before = looked.leaving;
    const [first, second] = withNames(names => names.reserve(2));
    assert.ok(first && second);
    for (const name of [first, second]) writeFileSync(join(store(), fileIdOfName(name)), 'x');
    exec(`INSERT INTO freed(machineid, fileid) VALUES ('local', '${fileIdOfName(first)}')`);
    withNames(names => names.note([{ name: second, atMs: 2 ** 40 }]));
    assert.deepEqual(await fsck(), []);
    assert.equal(looked.leaving, before + 2);
    exec(`DELETE FROM freed WHERE fileid = '${fileIdOfName(first)}'`);
    await heals(['orphan']);
    withNames(names => names.free(names.due(2 ** 40, 10).filter(({ id }) => id === second.id)));
    rmSync(join(store(), fileIdOfName(second)));
  });

  test('deletions of a machine whose id ends with that of this one are not its own', async () => {
    const [name] = withNames(names => names.reserve(1));
    assert.ok(name);
    writeFileSync(join(store(), fileIdOfName(name)), 'x');
    const spool = new Spool({
      dir: join(lcc.home, 'spool/fsm'),
      steps: 'test',
      fail: error => assert.fail(String(error)),
    });
    const writer = spool.create({ machineid: 'not-local' });
    writer.write(`${fileIdOfName(name)}\n`);
    const { id } = await writer.commit('not-local');
    assert.deepEqual(kindsOf(await fsck()), ['orphan']);
    await fsck('repair', 'storeLost');
    assert.ok(existsSync(join(lcc.home, 'spool/fsm/new', id)), 'it waits for its machine');
    await spool.remove(id);
    spool.close();
  });

  test('the id of an orphan is given out again under its next generation', async () => {
    const [name] = withNames(names => names.reserve(1));
    assert.ok(name);
    writeFileSync(join(store(), fileIdOfName(name)), 'x');
    await heals(['orphan']);
    assert.deepEqual(
      withNames(names => names.row(name.id)),
      { id: name.id, gen: name.gen + 1, state: 'free' },
    );
  });
});

describe('the free list', () => {
  const nameOf = (page: string) => {
    const [, hex = '', gen = ''] = /\/([0-9a-f]+)\.(\d+)$/.exec(fileIdOf(page)) ?? [];
    return { id: parseInt(hex, 16), gen: Number(gen) };
  };
  const state = (id: number) => withNames(names => names.row(id)?.state ?? 'taken');

  for (const [what, spoil] of [
    ['free and used', (names: NamesDb, name: { id: number; gen: number }) => names.release([name])],
    [
      'to be deleted and used',
      (names: NamesDb, name: { id: number; gen: number }) => names.note([{ name, atMs: 2 ** 40 }]),
    ],
  ] as const) {
    test(`an id that is both ${what} is used`, async () => {
      const name = nameOf('page-2.html');
      withNames(names => spoil(names, name));
      await heals(['free-list'], /^[0-9a-f]{2}\//);
      assert.equal(state(name.id), 'taken');
    });
  }

  test('an id beyond those given out is taken, at the generation its row says', async () => {
    const old = fileIdOf('page-10.html');
    const far = `00/00/000000f0.2`;
    renameSync(join(store(), old), join(store(), far));
    withDb(db => db.prepare('UPDATE lccurl SET fetched_fileid = ? WHERE fetched_fileid = ?').run(far, old));
    await heals(['free-list'], /000000f0\.2/);
    assert.deepEqual(
      withNames(names => names.row(0xf0)),
      { id: 0xf0, gen: 2, state: 'taken' },
    );
  });
});
