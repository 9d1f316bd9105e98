import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { openDatabase, openReadOnly } from '../../../src/db/sqlite/open.js';
import { openOrSalvage } from '../../../src/db/sqlite/salvage.js';
import { noteFailure, suspectDatabase } from '../../../src/db/sqlite/suspicion.js';
import type { LccError } from '../../../src/lib/errors.js';
import { silentLog, type LogFields } from '../../../src/lib/log.js';
import { onStep } from '../../../src/lib/steps.js';
import { Bench, url } from '../../qm/support.js';
import { spoil } from '../../support/damage.js';

const NOW = Date.UTC(2026, 10, 20, 10, 13, 1);
let bench: Bench;
let storeId: unknown;

beforeEach(async () => {
  bench = new Bench();
  bench.provider(7);
  const urls = Array.from({ length: 400 }, (_, i) => url(`some/rather/long/path/page-${i}`));
  await bench.send(7, urls);
  for (const one of urls.slice(0, 300)) bench.fetch(7, one.curl);
  storeId = bench.value("SELECT value FROM meta WHERE key = 'store_id'");
  bench.db.pragma('wal_checkpoint(TRUNCATE)');
  bench.db.close();
});
afterEach(() => {
  bench.reopen();
  bench.close();
});

const aside = () => readdirSync(bench.dir).filter(name => /^lcc\.db\.damaged-20261120101301$/.test(name));
const open = () => openOrSalvage(bench.path, NOW, silentLog).close();

function overwrite(offset: number, bytes: number): void {
  const fd = openSync(bench.path, 'r+');
  writeSync(fd, Buffer.alloc(bytes, 0xa5), 0, bytes, offset);
  closeSync(fd);
}

/** A page of an index is lost: a damage that only a check finds, and that loses no row. */
function salvageFromSpoiltIndex(): void {
  bench.db.pragma('wal_checkpoint(TRUNCATE)');
  bench.db.close();
  suspectDatabase(bench.path);
  overwrite((pageOf('lccurl_seq') - 1) * 4096, 4096);
  open();
}

/** The first page of a table or an index. */
function pageOf(name: string): number {
  const db = openDatabase(bench.path);
  const page = Number(db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(name));
  db.close();
  return page;
}

test('a sound database is opened as it is', () => {
  open();
  assert.deepEqual(aside(), []);
  bench.reopen();
  assert.equal(bench.value("SELECT value FROM meta WHERE key = 'store_id'"), storeId);
});

test('of a table whose description is lost nothing is kept, and that is said in so many words', () => {
  bench.reopen();
  const page = pageOf('lccurl_seq');
  bench.db.exec('DROP TABLE agemark');
  bench.db.pragma('wal_checkpoint(TRUNCATE)');
  bench.db.close();
  overwrite((page - 1) * 4096, 4096);
  suspectDatabase(bench.path);
  const said: unknown[] = [];
  const warn = (message: string, fields: LogFields = {}) => {
    if ('table' in fields) said.push([message, fields]);
  };
  openOrSalvage(bench.path, NOW, { ...silentLog, warn }).close();
  const lost = 'table missing in the damaged database: its rows are lost';
  assert.deepEqual(said, [[lost, { table: 'agemark' }]]);
  assert.equal(aside().length, 1);
});

test('a suspected database that is sound is kept', () => {
  suspectDatabase(bench.path);
  open();
  assert.deepEqual(aside(), []);
  assert.ok(!existsSync(`${bench.path}.suspect`));
});

for (const step of [
  'db.salvage.built:1',
  'db.leaving.noted:1',
  'db.leaving.moved:1',
  'db.leaving.moved:2',
  'db.leaving.moved:3',
  'db.salvage.aside:1',
])
  test(`what was only in the log of a damaged database is kept when its replacement is cut off at ${step}`, async () => {
    const page = pageOf('lccurl_seq');
    bench.reopen();
    bench.provider(8);
    await bench.send(8, [url('a'), url('b')]);
    // As kill -9 leaves them.
    const parts = ['', '-wal', '-shm'].map(part => [part, readFileSync(bench.path + part)] as const);
    bench.db.close();
    for (const [part, content] of parts) writeFileSync(bench.path + part, content);
    overwrite((page - 1) * 4096, 4096);
    suspectDatabase(bench.path);
    const [name, count] = step.split(':');
    let left = Number(count);
    onStep(at => {
      if (at === name && --left === 0) throw new Error('killed');
    });
    assert.throws(open, /killed/);
    onStep(() => undefined);
    if (name !== 'db.salvage.built') assert.throws(() => openReadOnly(bench.path), /start lccd/);
    openOrSalvage(bench.path, NOW + 5000, silentLog).close();
    bench.reopen();
    assert.equal(bench.value('SELECT count(*) FROM qdb WHERE pid = 8'), 2);
    assert.equal(bench.value('SELECT count(*) FROM lccurl'), 300);
    assert.equal(aside().length, name === 'db.salvage.built' ? 0 : 1);
  });

test('half of a new database is not taken for it when the damaged one was taken away', () => {
  writeFileSync(`${bench.path}.new`, readFileSync(bench.path));
  rmSync(bench.path);
  open();
  bench.reopen();
  assert.equal(bench.value('SELECT count(*) FROM pidb'), 0);
});

test('a full set that was being taken is taken anew, and only the whole of it fulfils the wish', async () => {
  bench.reopen();
  const urls = Array.from({ length: 2000 }, (_, i) => url(`some/rather/long/path/page-${i}`, { len: '1' }));
  const head = bench.head(7, urls.length, { set: 'full' });
  const intake = await bench.intake.begin('u1', head);
  intake.urls(urls.slice(0, 1500));
  intake.cut();
  assert.equal(bench.value('SELECT rowsdone FROM absorbed WHERE entry = ?', head.entry), 1000);
  bench.db.pragma('wal_checkpoint(TRUNCATE)');
  bench.db.close();
  overwrite(4096 * (pageOf('sqlite_autoindex_queued_1') - 1), 4096);
  suspectDatabase(bench.path);
  open();
  assert.equal(aside().length, 1);
  bench.reopen();
  bench.db.exec('DELETE FROM queued WHERE pos % 7 = 0; DELETE FROM lccurl WHERE id % 7 = 0');
  const again = await bench.intake.begin('u1', head);
  again.urls(urls);
  await again.end();
  assert.equal(bench.value('SELECT fullsetwanted FROM pidb'), null);
  const known = 'SELECT count(*) FROM (SELECT curl FROM qdb UNION SELECT curl FROM lccurl)';
  assert.equal(bench.value(known), urls.length);
});

for (const [what, damage] of [
  ['without a readable beginning', () => overwrite(0, 8192)],
  ['with a damaged header', () => overwrite(0, 100)],
  ['cut short before its providers', () => truncateSync(bench.path, 4096 * (pageOf('pidb') - 1))],
] as const) {
  test(`a database ${what} is not replaced by an empty one, until that is asked for`, () => {
    damage();
    const damaged = readFileSync(bench.path);
    for (let start = 0; start < 2; start++) {
      assert.throws(
        open,
        (error: LccError) =>
          error.code === 'config' &&
          /lcc\.db: damaged, and no provider can be read of it/.test(error.message),
      );
    }
    assert.deepEqual(readFileSync(bench.path), damaged);
    assert.ok(!existsSync(`${bench.path}.new`));
    openOrSalvage(bench.path, NOW, silentLog, { fromNothing: true }).close();
    assert.equal(aside().length, 1);
  });
}

test('a database short of its last page keeps its providers and what stands in front of it', () => {
  truncateSync(bench.path, statSync(bench.path).size - 4096);
  open();
  assert.equal(aside().length, 1);
  bench.reopen();
  assert.equal(bench.value('SELECT count(*) FROM pidb'), 1);
  const left = 'SELECT (SELECT count(*) FROM lccurl) + (SELECT count(*) FROM qdb)';
  assert.ok(Number(bench.value(left)) > 350, String(bench.value(left)));
});

test('a database that surely had no providers is replaced', () => {
  bench.reopen();
  bench.db.exec('DELETE FROM pidb');
  salvageFromSpoiltIndex();
  assert.equal(aside().length, 1);
});

test('what salvages the database does not say that something should', () => {
  overwrite(0, 100);
  const said: unknown[] = [];
  const error = (event: string, fields: LogFields = {}) => void said.push([event, fields['error']]);
  openOrSalvage(bench.path, NOW, { ...silentLog, error }, { fromNothing: true }).close();
  assert.deepEqual(said, [
    ['database damaged', 'file is not a database'],
    ['a new database has been started; no provider is in it: add them again with lccpidb add', undefined],
  ]);
});

test('of a database without a readable beginning a new one is started, the old one set aside byte by byte', () => {
  overwrite(0, 8192);
  const damaged = readFileSync(bench.path);
  openOrSalvage(bench.path, NOW, silentLog, { fromNothing: true }).close();
  assert.equal(aside().length, 1);
  assert.deepEqual(readFileSync(join(bench.dir, aside()[0] ?? '')), damaged);
  bench.reopen();
  assert.equal(bench.value('SELECT count(*) FROM lccurl'), 0);
  assert.notEqual(bench.value("SELECT value FROM meta WHERE key = 'store_id'"), storeId);
});

test('what can be read is carried over, counted anew, and every provider is asked for the rest', () => {
  // Behind all that the schema makes: pages of urls.
  const pages = statSync(bench.path).size / 4096;
  overwrite((pages - 8) * 4096, 3 * 4096);
  suspectDatabase(bench.path);
  open();
  assert.equal(aside().length, 1);
  bench.reopen();
  const [provider] = bench.all('SELECT filesused, nurlproc, fullsetwanted FROM pidb');
  const held = Number(bench.value('SELECT count(*) FROM lccurl'));
  const queued = Number(bench.value('SELECT count(*) FROM qdb'));
  assert.ok(held + queued > 200, `${held} rows and ${queued} waiting urls were saved`);
  assert.deepEqual(provider, { filesused: held, nurlproc: queued, fullsetwanted: 'cache crash' });
  assert.ok(Number(bench.value("SELECT value FROM counter WHERE name = 'seq'")) >= held);
  assert.equal(bench.db.pragma('integrity_check', { simple: true }), 'ok');
});

test('that one had to be started anew is an error in the log, for all content is fetched again', () => {
  suspectDatabase(bench.path);
  overwrite((pageOf('lccurl_seq') - 1) * 4096, 4096);
  const errors: string[] = [];
  const log = { ...silentLog, error: (event: string) => void errors.push(event) };
  openOrSalvage(bench.path, NOW, log).close();
  assert.deepEqual(errors, ['a new database has been started; every provider is asked for a full set']);
});

test('the queue is found again by its sets, rebuilt from the urls alone', () => {
  const sets = () => bench.all('SELECT psetid, starttimeslot, pid FROM qpsdb');
  bench.reopen();
  const before = sets();
  bench.db.close();
  suspectDatabase(bench.path);
  // Damage in the pages of lccurl's index: found by the check, while every row can be read.
  overwrite((pageOf('lccurl_seq') - 1) * 4096, 4096);
  open();
  bench.reopen();
  assert.deepEqual(sets(), before);
  assert.equal(bench.value('SELECT count(*) FROM lccurl'), 300);
});

test('all that the operator, the scheduler and the fuse know survives', async () => {
  bench.reopen();
  bench.db.exec(`
    UPDATE pidb SET dueat = 11, fusepercent = 12, fuseurls = 13, lastconntime = 14, backoffs = 2, backoffuntil = 15;
    UPDATE qpsdb SET absorbedat = 16;
    INSERT INTO held VALUES (3, 7, 1, 0, 2, 'd', 17);
    INSERT INTO agemark VALUES (1, 2, 3);
    INSERT INTO store(machineid, storeid, syncedseq) VALUES ('m1', 's1', 0);
    INSERT INTO helddelete VALUES (3, 'x', 'text/html'), (3, 'y', 'text/html');
    INSERT INTO pierr(pid, code, text, attrs) VALUES (7, 404, 'gone', ' curl="x"');
    INSERT INTO freed(machineid, fileid) VALUES ('m1', 'f1');
  `);
  const moved = {
    id: 1,
    pid: 7,
    curl: 'x',
    mimetype: 'text/html',
    burl: null,
    deleted_time: 18,
    moved: 1,
  } as const;
  bench.store.deletions.bury({ seq: 1000, ...moved });
  const rest = () =>
    [
      'proots',
      'agemark',
      'store',
      'held',
      'helddelete',
      'pierr',
      'freed',
      'tombstone',
      'absorbed',
      'qdb',
      'lccurl',
    ].map(table => bench.all(`SELECT * FROM ${table}`));
  const provider = () =>
    bench.all('SELECT dueat, fusepercent, fuseurls, lastconntime, backoffs, backoffuntil FROM pidb');
  const sets = () => bench.all('SELECT psetid, pid, absorbedat FROM qpsdb');
  const before = [provider(), rest(), sets()];
  salvageFromSpoiltIndex();
  assert.equal(aside().length, 1);
  bench.reopen();
  assert.deepEqual([provider(), rest(), sets()], before);
});

test('no error has a number below one that was received, though that is from a clock that was ahead', () => {
  bench.reopen();
  const ahead = Date.now() + 365 * 86_400_000;
  bench.db.exec(`UPDATE sqlite_sequence SET seq = ${ahead} WHERE name = 'pierr'`);
  bench.store.transaction(() => bench.store.errors.add(7, url('x'), 404, 'gone'));
  const received = Number(bench.value('SELECT errseq FROM pierr ORDER BY errseq'));
  bench.store.transaction(() => bench.store.errors.delivered(7, received));
  salvageFromSpoiltIndex();
  bench.reopen();
  bench.store.transaction(() => bench.store.errors.add(7, url('y'), 404, 'gone'));
  assert.equal(bench.value('SELECT errseq FROM pierr ORDER BY errseq'), received + 1);
});

test('no content is trusted unread, and no set comes before what it named', () => {
  bench.reopen();
  bench.db.exec("INSERT INTO store(machineid, storeid, syncedseq) VALUES ('m1', 's1', 200)");
  // As the set of a url that was fetched again leaves it: nothing else knows its number.
  bench.db.exec('UPDATE lccurl SET psetid = 900 WHERE id = 5');
  salvageFromSpoiltIndex();
  bench.reopen();
  assert.equal(bench.value('SELECT syncedseq FROM store'), 0);
  assert.ok(Number(bench.value("SELECT value FROM counter WHERE name = 'psetid'")) >= 900);
});

test('rows that the schema does not allow are not carried over, and that is said', () => {
  spoil(
    bench.path,
    "UPDATE lccurl SET md5 = x'00' WHERE id IN (1, 5, 300); UPDATE queued SET len = 'x' WHERE pos = 350; UPDATE queued SET tod = x'00' WHERE pos = 360",
  );
  suspectDatabase(bench.path);
  const said: unknown[] = [];
  const warn = (message: string, fields: LogFields = {}) => void said.push([message, fields]);
  openOrSalvage(bench.path, NOW, { ...silentLog, warn }).close();
  assert.equal(aside().length, 1);
  const leftOut = 'rows left out: the schema does not allow them';
  assert.deepEqual(said, [
    [leftOut, { table: 'lccurl', rows: 3 }],
    [leftOut, { table: 'queued', rows: 2 }],
  ]);
  bench.reopen();
  assert.deepEqual(bench.all('SELECT filesused, nurlproc, fullsetwanted FROM pidb'), [
    { filesused: 297, nurlproc: 98, fullsetwanted: 'cache crash' },
  ]);
});

test('a database suspected again after the check found nothing is not believed', () => {
  noteFailure(bench.path, Object.assign(new Error('malformed'), { code: 'SQLITE_CORRUPT' }));
  open();
  assert.deepEqual(aside(), []);
  noteFailure(bench.path, new Error('a full disk, say'));
  open();
  assert.deepEqual(aside(), []);
  noteFailure(bench.path, Object.assign(new Error('constraint'), { code: 'SQLITE_CONSTRAINT_UNIQUE' }));
  openOrSalvage(bench.path, Date.now(), silentLog).close();
  assert.equal(readdirSync(bench.dir).filter(name => /\.damaged-\d+$/.test(name)).length, 1);
  bench.reopen();
  assert.equal(bench.value('SELECT count(*) FROM lccurl'), 300);
});
