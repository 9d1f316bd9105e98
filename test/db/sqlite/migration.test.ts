/** An lcc.db of an older release, brought to the schema of this one. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { disagreement, rebuildSets } from '../../../src/db/queue/sets-from-urls.js';
import {
  isToBeUpgraded,
  openDatabase,
  openReadOnly,
  SCHEMA_VERSION,
  STEPS,
} from '../../../src/db/sqlite/open.js';
import { openOrSalvage } from '../../../src/db/sqlite/salvage.js';
import { suspectDatabase } from '../../../src/db/sqlite/suspicion.js';
import { LccError } from '../../../src/lib/errors.js';
import { silentLog, type LogFields } from '../../../src/lib/log.js';
import { openSqlite, type Db } from '../../../src/lib/sqlite.js';
import { ROOT } from '../../support/tree.js';

/** Of the steps of releases: those are never edited. */
const RELEASED = [
  '980500b557db6334009dad744085e2e57eb1381636653b73675c1681cd5aa69f',
  '23086ed17e7f1c1d4671941b0f43aac4615e2067000949e09eca705a0d6501b7',
];

const MD5 = 'd41d8cd98f00b204e9800998ecf8427e';
let dir = '';
let path = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-migration-'));
  path = join(dir, 'lcc.db');
  makeOld();
});
afterEach(() => rmSync(dir, { recursive: true }));

/** As 0.1.0 leaves it: two providers, content, a queue of two sets with a part for later, an error. */
function makeOld(): void {
  const db = openSqlite(path);
  db.pragma('journal_mode = WAL');
  db.exec(STEPS[0] ?? '');
  db.pragma('user_version = 1');
  db.exec(`
    INSERT INTO meta VALUES ('store_id', '6f3f3c7e-3a0c-4b1c-9b57-5c4c1c2b0a11');
    INSERT INTO pidb(pid, password, filesused, spaceused, nurlproc, nurlerrs) VALUES (7, 'sha256:a:b', 500, 1500, 4, 1);
    INSERT INTO pidb(pid, password, pacems, origin) VALUES (8, 'sha256:c:d', 250, 'rs');
    INSERT INTO proots VALUES (7, 'http://www.example.org/'), (8, 'http://other.example.org/');
    INSERT INTO pierr(pid, code, text, attrs) VALUES (7, 404, 'Not Found', ' curl="http://www.example.org/gone"');
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
      INSERT INTO lccurl(id, pid, curl, mimetype, md5, len, fetched_time, fetched_machineid, fetched_fileid, psetid, seq)
      SELECT i, 7, 'http://www.example.org/' || i, 'text/html', '${MD5}', 3, 1, 'm', 'f' || i, 1, i FROM n;
    INSERT INTO tombstone(seq, id, pid, curl, mimetype, deleted_time) VALUES (501, 501, 7, 'http://www.example.org/x', 'text/html', 1);
    INSERT INTO qdb(pos, pid, curl, mimetype, psetid, slot, flags) VALUES
      (1, 7, 'http://www.example.org/1', 'text/html', 1, -1, 0), (2, 7, 'http://www.example.org/2', 'text/html', 1, 5, 3),
      (3, 7, 'http://www.example.org/n', 'text/html', 2, -1, 1), (4, 7, 'http://www.example.org/m', 'text/html', 2, -1, 0);
    INSERT INTO qpsdb VALUES (1, -1, 7, 1, 2, 1795000001), (1, 5, 7, 1, 2, 1795000001), (2, -1, 7, 3, 4, 1795000002);
    UPDATE counter SET value = 501 WHERE name = 'seq';
    UPDATE counter SET value = 4 WHERE name = 'pos';
    UPDATE counter SET value = 2 WHERE name = 'psetid';
  `);
  db.close();
}

const TABLES = ['meta', 'counter', 'pidb', 'proots', 'pierr', 'lccurl', 'tombstone', 'qdb', 'qpsdb'];

/** All rows, with the columns that version 1 has. */
function oldRows(db: Db): Record<string, unknown[]> {
  const before = openSqlite(':memory:');
  before.exec(STEPS[0] ?? '');
  const columnsOf = (table: string) =>
    before.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table).join(', ');
  const rows = TABLES.map(table => [
    table,
    db.prepare(`SELECT ${columnsOf(table)} FROM ${table} ORDER BY 1, 2`).all(),
  ]);
  before.close();
  return Object.fromEntries(rows) as Record<string, unknown[]>;
}

function openedOld(): Record<string, unknown[]> {
  const db = openSqlite(path, { readonly: true });
  const rows = oldRows(db);
  db.close();
  return rows;
}

function schemaOf(db: Db): unknown[] {
  return db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all();
}

function whole(db: Db): void {
  assert.equal(db.pragma('user_version', { simple: true }), SCHEMA_VERSION);
  assert.equal(db.pragma('integrity_check', { simple: true }), 'ok');
  assert.equal(disagreement(db), undefined);
}

test('steps that were released are as they were', () => {
  const sums = STEPS.map(sql => createHash('sha256').update(sql).digest('hex'));
  assert.deepEqual(sums.slice(0, RELEASED.length), RELEASED);
});

test('a database of 0.1.0 has all its rows after the migration, and what is new says that nothing was unasked', () => {
  const before = openedOld();
  const db = openDatabase(path);
  whole(db);
  assert.deepEqual(oldRows(db), before);
  const one = (sql: string) => db.prepare(sql).get();
  assert.deepEqual(
    one('SELECT spider, scan, scanperday, groupname, truthmode, auditdue, pacems FROM pidb WHERE pid = 8'),
    { spider: 0, scan: null, scanperday: null, groupname: null, truthmode: 1, auditdue: 0, pacems: 250 },
  );
  assert.deepEqual(one('SELECT DISTINCT served, hops, finalurl, robots FROM lccurl'), {
    served: 0,
    hops: null,
    finalurl: null,
    robots: null,
  });
  assert.deepEqual(one('SELECT DISTINCT class FROM qpsdb'), { class: 0 });
  assert.deepEqual(one('SELECT DISTINCT hops FROM qdb'), { hops: null });
  const fresh = openDatabase(join(dir, 'fresh.db'));
  assert.deepEqual(schemaOf(db), schemaOf(fresh));
  fresh.close();
  db.close();
  openReadOnly(path).close();
});

/** As one from between two releases is: its number is known, its tables are not. */
for (const [what, sql] of [
  ['a column that the release has is missing', 'ALTER TABLE robots DROP COLUMN again'],
  ['a column that it has not is there', 'ALTER TABLE pidb ADD COLUMN tried INTEGER'],
  ['a table is missing', 'DROP TABLE audit'],
  ['it has the columns of a step that its number is before', `PRAGMA user_version = ${SCHEMA_VERSION - 1}`],
] as const)
  test(`one from between two releases is refused as that, and stays as it is: ${what}`, () => {
    openDatabase(path).close();
    const db = openSqlite(path);
    db.exec(sql);
    db.close();
    for (const open of [() => openDatabase(path), () => openOrSalvage(path, 0, silentLog)])
      assert.throws(
        open,
        (error: unknown) =>
          error instanceof LccError &&
          error.code === 'config' &&
          /an LCC from between two releases made it \(.*\); use that one, or move it away/.test(
            error.message,
          ),
      );
    assert.deepEqual(
      readdirSync(dir).filter(name => /damaged|suspect|new/.test(name)),
      [],
    );
  });

test('it is known as to be upgraded until it has been, and a file that is none or not there is not', () => {
  assert.ok(isToBeUpgraded(path));
  openDatabase(path).close();
  assert.ok(!isToBeUpgraded(path));
  assert.ok(!isToBeUpgraded(join(dir, 'none.db')));
  writeFileSync(join(dir, 'text.db'), 'no database, '.repeat(1000));
  assert.ok(!isToBeUpgraded(join(dir, 'text.db')));
});

test('before somebody has opened it for writing it is refused for reading, with what to do', () => {
  assert.throws(
    () => openReadOnly(path),
    (error: unknown) =>
      error instanceof LccError && error.code === 'config' && /lccd upgrades it/.test(error.message),
  );
});

for (const [at, version] of [
  ['db.upgrade.made', 1],
  ['db.upgrade.committed', SCHEMA_VERSION],
] as const)
  test(`killed at ${at} it is as it was, or migrated, and whole`, () => {
    const before = openedOld();
    const probe = spawnSync(process.execPath, [join(ROOT, 'dist/test/support/upgrade-probe.js'), path], {
      env: { ...process.env, LCC_CRASH_AT: at },
      encoding: 'utf8',
    });
    assert.equal(probe.signal, 'SIGKILL', probe.stderr);
    const killed = openSqlite(path);
    assert.equal(killed.pragma('user_version', { simple: true }), version);
    assert.equal(killed.pragma('integrity_check', { simple: true }), 'ok');
    killed.close();
    const db = openDatabase(path);
    whole(db);
    assert.deepEqual(oldRows(db), before);
    db.close();
  });

test('sets that nobody announced keep their order where pushes have come between them and those of owners', () => {
  const db = openSqlite(path);
  for (const step of STEPS.slice(1, 4)) db.exec(step);
  db.pragma('user_version = 4');
  db.exec(`INSERT INTO qdb(pos, pid, curl, mimetype, psetid, slot, flags, hops) VALUES
      (5, 7, 'http://www.example.org/l', '*/*', 3, -1, 5, 2), (6, 7, 'http://www.example.org/s', '*/*', 4, -1, 8, NULL);
    INSERT INTO qpsdb(psetid, starttimeslot, pid, firstpos, lastpos, class) VALUES (3, -1, 7, 5, 5, 1), (4, -1, 7, 6, 6, 2)`);
  db.close();
  const upgraded = openDatabase(path);
  whole(upgraded);
  assert.deepEqual(
    upgraded.prepare('SELECT class FROM qpsdb WHERE psetid > 2 ORDER BY psetid').pluck().all(),
    [2, 3],
  );
  assert.equal(upgraded.prepare('SELECT DISTINCT push FROM pidb').pluck().get(), 'indexnow,ping,feed');
  upgraded.close();
});

test('sets that are told from the urls alone have the class of their urls', () => {
  const db = openDatabase(path);
  db.exec(`
    INSERT INTO qdb(pos, pid, curl, mimetype, psetid, slot, flags, hops) VALUES
      (5, 7, 'http://www.example.org/l', '*/*', 3, -1, 5, 2), (6, 7, 'http://www.example.org/k', '*/*', 3, 5, 7, 2),
      (7, 7, 'http://www.example.org/s', '*/*', 4, -1, 8, NULL), (8, 8, 'http://other.example.org/', '*/*', 5, -1, 16, NULL);
    DELETE FROM qpsdb;`);
  db.transaction(() => rebuildSets(db))();
  const sets = db.prepare('SELECT psetid, starttimeslot, class FROM qpsdb ORDER BY 1, 2').raw().all();
  assert.deepEqual(sets, [
    [1, -1, 0],
    [1, 5, 0],
    [2, -1, 0],
    [3, -1, 2],
    [3, 5, 2],
    [4, -1, 3],
    [5, -1, 4],
  ]);
  assert.equal(disagreement(db), undefined);
  db.close();
});

test('a damaged one of 0.1.0 is salvaged into the new schema, and no table is said to be lost that it never had', () => {
  const before = openedOld();
  const old = openSqlite(path);
  const page = Number(
    old.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'lccurl_file'").pluck().get(),
  );
  old.close();
  // A page of an index is lost: only a check finds that, and no row is lost by it.
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(4096, 0xa5), 0, 4096, (page - 1) * 4096);
  closeSync(file);
  suspectDatabase(path);
  const said: string[] = [];
  const warn = (message: string, fields: LogFields = {}) => {
    said.push(`${message} ${JSON.stringify(fields)}`);
  };
  const db = openOrSalvage(path, Date.UTC(2026, 10, 23), { ...silentLog, warn });
  assert.equal(db.pragma('user_version', { simple: true }), SCHEMA_VERSION);
  assert.deepEqual(oldRows(db)['lccurl'], before['lccurl']);
  assert.deepEqual(oldRows(db)['qdb'], before['qdb']);
  assert.ok(readdirSync(dir).some(name => name.startsWith('lcc.db.damaged-')));
  assert.deepEqual(
    said.filter(line => /lost/.test(line)),
    [],
  );
  db.close();
});
