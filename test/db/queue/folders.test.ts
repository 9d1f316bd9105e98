import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import fc from 'fast-check';
import { folderOf, placeOf, placesOf, QueueFolders } from '../../../src/db/queue/folders.js';
import { openDatabase, STEPS } from '../../../src/db/sqlite/open.js';
import { openOrSalvage } from '../../../src/db/sqlite/salvage.js';
import { suspectDatabase } from '../../../src/db/sqlite/suspicion.js';
import { silentLog } from '../../../src/lib/log.js';
import { openSqlite } from '../../../src/lib/sqlite.js';
import { unusedFolders } from '../../../src/qm/housekeeping/unused-folders.js';
import { absolute, Bench, url } from '../../qm/support.js';
import { spoil } from '../../support/damage.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
  bench.provider(7);
});
afterEach(() => bench.close());

const folders = () =>
  bench.all<{ folder: string }>('SELECT folder FROM qfolder ORDER BY folder').map(row => row.folder);

test('a folder ends at the last slash but one of the path, whatever the query', () => {
  for (const [curl, folder] of [
    ['http://h/docs/part/page.html', 'http://h/docs/'],
    ['http://h/2020/05/slug/', 'http://h/2020/05/'],
    ['http://h/2020/05/slug/index.html', 'http://h/2020/05/'],
    ['http://h/docs/page?to=/a/b/c/', 'http://h/'],
    ['http://h/page', 'http://'],
    ['http://h?/a/b', 'http:/'],
    ['page', ''],
    ['/page', ''],
    ['', ''],
  ] as const)
    assert.equal(folderOf(curl), folder, curl);
});

const curls = fc.array(
  fc.oneof(
    fc.webUrl({ withQueryParameters: true }),
    fc.string({ unit: fc.constantFrom('a', 'é', '𝄞', '/', '?', '#', '.') }),
  ),
  { maxLength: 30 },
);

test('a database of the schema before keeps each url that waits, and each is found by its url', () => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-folders-'));
  let n = 0;
  try {
    fc.assert(
      fc.property(curls, urls => {
        const path = join(dir, `${++n}.db`);
        const old = openSqlite(path);
        for (const step of STEPS.slice(0, 7)) old.exec(step);
        old.pragma('user_version = 7');
        const insert = old.prepare(
          'INSERT OR IGNORE INTO qdb(pos, pid, curl, mimetype, psetid, slot, len, flags) VALUES (?, ?, ?, ?, 1, 3, 5, 2)',
        );
        urls.forEach((curl, i) => insert.run(i + 1, 7 + (i % 2), curl, i % 3 === 0 ? '*/*' : 'text/html'));
        const before = old.prepare('SELECT * FROM qdb ORDER BY pos').all();
        old.close();
        const db = openDatabase(path);
        const rows = db
          .prepare<[], { pos: number; pid: number; curl: string; mimetype: string }>(
            'SELECT * FROM qdb ORDER BY pos',
          )
          .all();
        assert.deepEqual(rows, before);
        const place = db.prepare<unknown[], number>(`SELECT ${placeOf()}`).pluck();
        const places = db
          .prepare<unknown[], number>(`SELECT pos FROM queued WHERE pos IN ${placesOf()}`)
          .pluck();
        for (const { pos, pid, curl, mimetype } of rows) {
          assert.equal(place.get(pid, curl, mimetype), pos);
          assert.ok(places.all(pid, curl).includes(pos));
          assert.equal(
            place.get(pid, `${curl}x`, mimetype) ?? null,
            rows.find(row => row.pid === pid && row.mimetype === mimetype && row.curl === `${curl}x`)?.pos ??
              null,
          );
          assert.equal(db.prepare('SELECT url_folder(?)').pluck().get(curl), folderOf(curl));
        }
        db.close();
      }),
      { numRuns: 60 },
    );
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test('a url is there once for each provider and type, in whatever folder', async () => {
  bench.provider(8);
  const same = ['a/b/c', 'a/b/d', 'a/c', 'a/b/c?q=/x/y'].map(name => url(name));
  for (const pid of [7, 8, 7]) await bench.send(pid, [...same, url('a/b/c', { mimetype: 'text/plain' })]);
  assert.deepEqual(
    bench.all('SELECT pid, count(*) AS rows FROM qdb GROUP BY pid'),
    [7, 8].map(pid => ({ pid, rows: 5 })),
  );
  assert.deepEqual(bench.all('SELECT pid, nurlproc AS rows FROM pidb ORDER BY pid'), [
    { pid: 7, rows: 5 },
    { pid: 8, rows: 5 },
  ]);
});

test('a folder goes when none of the urls that wait is in it, and no other does', async () => {
  await bench.send(
    7,
    ['a/b/1', 'a/b/2', 'c/d/1'].map(name => url(name)),
  );
  const [a, c] = ['a/', 'c/'].map(name => absolute(name));
  assert.deepEqual(folders(), [a, c]);
  const chore = unusedFolders(bench.store);
  const round = () => {
    while (chore.run() < 60_000);
  };
  round();
  assert.deepEqual(folders(), [a, c]);
  bench.fetch(7, 'a/b/1', 'held');
  bench.fetch(7, 'c/d/1', 'held');
  round();
  assert.deepEqual(folders(), [a]);
  await bench.send(7, [url('c/d/1', { len: '9' })]);
  assert.deepEqual(folders(), [a, c]);
});

test('thousands of folders are looked at a piece at a time', () => {
  bench.store.transaction(() => {
    const made = new QueueFolders(bench.db);
    for (let n = 0; n < 5000; n++) made.of(7, absolute(`${n}/a/b`), '*/*');
  });
  const chore = unusedFolders(bench.store);
  let steps = 1;
  while (chore.run() < 60_000) steps++;
  assert.equal(steps, 6);
  assert.deepEqual(folders(), []);
});

test('of a folder that is damaged no url is made up: its urls are damage, and are left out, which is said', async () => {
  await bench.send(
    7,
    ['a/b/1', 'a/b/2', 'c/d/1'].map(name => url(name)),
  );
  bench.db.close();
  spoil(bench.path, `UPDATE qfolder SET folder = CAST(folder AS BLOB) WHERE folder = '${absolute('a/')}'`);
  bench.reopen();
  assert.deepEqual(
    bench.all('SELECT curl FROM qdb ORDER BY pos').map(row => row['curl']),
    [null, null, absolute('c/d/1')],
  );
  bench.db.close();
  suspectDatabase(bench.path);
  const said: unknown[] = [];
  openOrSalvage(bench.path, 0, { ...silentLog, warn: (...words) => void said.push(words) }).close();
  assert.deepEqual(said, [
    ['rows left out: the schema does not allow them', { table: 'qfolder', rows: 1 }],
    ['rows left out: their folders are lost', { table: 'queued', rows: 2 }],
  ]);
  bench.reopen();
  assert.deepEqual(bench.all('SELECT curl FROM qdb'), [{ curl: absolute('c/d/1') }]);
});
