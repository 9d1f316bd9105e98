import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Spool } from '../../src/lib/spool.js';
import { comesBack, fileIdOf, fsck, heals, kindsOf, lcc, one, pathOf, store, withDb } from './checked.js';

test('an LCC as it is in order has nothing to be found', async () => {
  assert.deepEqual(await fsck(), []);
});

test('content that cannot be trusted goes, with its row, and comes again', async () => {
  unlinkSync(pathOf('page-3.html'));
  const path = pathOf('page-4.html');
  writeFileSync(path, readFileSync(path, 'utf8').replace('page', 'Page'));
  writeFileSync(pathOf('page-5.html'), '');
  assert.deepEqual(
    kindsOf(await fsck('quick')).toSorted(),
    ['altered-file', 'missing-file'],
    'by name and length',
  );
  await heals(['altered-file', 'altered-file', 'missing-file'], /page-[345]\.html/);
  for (const table of ['tombstone', 'qdb'])
    assert.equal(one(`SELECT count(*) FROM ${table} WHERE curl GLOB '*page-[345].html'`), 3, table);
  assert.equal(one("SELECT count(*) FROM lccurl WHERE curl GLOB '*page-[345].html'"), 0);
  await comesBack();
});

test('names that are no names, or two rows\u2019, are nobody\u2019s; what they stood for comes again', async () => {
  // As if names had been given out twice.
  withDb(db => {
    const point = db.prepare('UPDATE lccurl SET fetched_fileid = ? WHERE curl LIKE ?');
    point.run(fileIdOf('page-6.html'), '%page-7.html');
    point.run('../../etc/passwd', '%page-8.html');
    db.prepare("INSERT INTO freed(machineid, fileid) VALUES ('local', ?)").run(fileIdOf('page-9.html'));
  });
  await heals(['bad-fileid', 'free-list', 'orphan', 'orphan', 'shared-file']);
  assert.ok(existsSync('/etc/passwd'));
  await comesBack();
});

test('a damaged entry of a spool is found, and left to the UNS, which sets it aside and asks for a full set', async () => {
  const dir = join(lcc.home, 'spool/uns/uns');
  const spool = new Spool({ dir, steps: 'test', fail: error => assert.fail(String(error)) });
  const writer = spool.create({ some: 'header' });
  writer.write('some content');
  const { id } = await writer.commit('7-1');
  spool.close();
  const path = join(dir, 'new', id);
  const fd = openSync(path, 'r+');
  writeSync(fd, Buffer.from([0xff]), 0, 1, statSync(path).size - 12);
  closeSync(fd);
  const findings = await fsck('repair');
  assert.deepEqual(
    findings.map(({ kind, where, repaired }) => [kind, where, repaired]),
    [['spool', `spool/uns/uns/new/${id}`, false]],
  );
  assert.ok(existsSync(path));
  unlinkSync(path);
});

test('what is no file in a spool is a finding, and everything else is looked at all the same', async () => {
  const paths = ['spool/uns/uns/new/folder', 'spool/fsm/new/folder'].map(path => join(lcc.home, path));
  for (const path of paths) mkdirSync(path, { recursive: true });
  const findings = await fsck('repair');
  assert.deepEqual(
    findings.map(({ kind, where, what }) => [kind, where, what]),
    [
      [
        'spool',
        'spool/uns/uns/new/folder',
        'not a file; lccd-uns sets it aside when it starts, for it is no entry',
      ],
      [
        'spool',
        'spool/fsm/new/folder',
        'not a file; lccd-qm sets it aside when it starts, for it is no entry',
      ],
    ],
  );
  for (const path of paths) rmdirSync(path);
});

test('a store that is not there is a finding, and no reason to drop what it holds', async () => {
  renameSync(store(), `${store()}.away`);
  const rows = one('SELECT count(*) FROM lccurl');
  assert.deepEqual(
    (await fsck('repair')).map(({ kind, repaired }) => [kind, repaired]),
    [['store', false]],
  );
  assert.equal(one('SELECT count(*) FROM lccurl'), rows);
  renameSync(`${store()}.away`, store());
});

test('a recheck has all content read again, on every machine', async () => {
  withDb(db =>
    db
      .prepare("INSERT OR REPLACE INTO store(machineid, storeid, syncedseq) VALUES ('elsewhere', 's', 3)")
      .run(),
  );
  await fsck('repair');
  const synced = () =>
    withDb(db => db.prepare("SELECT syncedseq FROM store WHERE machineid = 'elsewhere'").pluck().get());
  assert.equal(synced(), 3);
  await fsck('repair', 'recheck');
  assert.equal(synced(), 0);
});
