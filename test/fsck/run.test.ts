import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { NamesDb } from '../../src/db/names.js';
import { fileIdOf as fileIdOfName } from '../../src/db/naming.js';
import { openDatabase, type Db } from '../../src/db/open.js';
import { readQueueSummary } from '../../src/db/queue/shape.js';
import { runFsck } from '../../src/fsck/run.js';
import type { Extent, Finding } from '../../src/fsck/types.js';
import { Spool } from '../../src/lib/spool.js';
import { Terms } from '../../src/db/terms.js';
import { damageProviders } from '../support/terms.js';
import { Site, urlTag, WholeLcc } from '../support/whole-lcc.js';

const site = new Site();
let lcc: WholeLcc;

/** What the last check looked at. */
let looked: Extent;

/** Checks the LCC in this process. */
async function fsck(
  ...options: ('repair' | 'quick' | 'storeLost' | 'restored' | 'removeOrphans' | 'recheck')[]
): Promise<Finding[]> {
  const findings: Finding[] = [];
  ({ extent: looked } = await runFsck(
    {
      dbPath: join(lcc.home, 'lcc.db'),
      storeDir: store(),
      machineId: 'local',
      unsSpoolDir: join(lcc.home, 'spool/uns'),
      fsmSpoolDir: join(lcc.home, 'spool/fsm'),
      repair: options.includes('repair'),
      quick: options.includes('quick'),
      storeLost: options.includes('storeLost'),
      startEmpty: false,
      restored: options.includes('restored'),
      removeOrphans: options.includes('removeOrphans'),
      recheck: options.includes('recheck'),
      errorsKept: 1000,
      nowMs: Date.now,
    },
    { found: finding => void findings.push(finding), note: () => undefined, advance: undefined },
  ));
  return findings;
}
const kindsOf = (findings: readonly Finding[]) => findings.map(({ kind }) => kind);

const store = () => join(lcc.home, 'store');
function withDb<T>(work: (db: Db) => T): T {
  const db = openDatabase(join(lcc.home, 'lcc.db'));
  try {
    return work(db);
  } finally {
    db.close();
  }
}
function withNames<T>(work: (names: NamesDb) => T): T {
  const names = new NamesDb(join(store(), 'names.db'), 0);
  try {
    return work(names);
  } finally {
    names.close();
  }
}
const one = (sql: string, ...values: unknown[]) =>
  withDb(db =>
    db
      .prepare(sql)
      .pluck()
      .get(...values),
  );
const exec = (sql: string) => withDb(db => void db.exec(sql));
const fileIdOf = (page: string) =>
  String(one('SELECT fetched_fileid FROM lccurl WHERE curl = ?', `${site.url}/${page}`));
const pathOf = (page: string) => join(store(), fileIdOf(page));

const PAGES = Array.from({ length: 12 }, (_, i) => `page-${i}.html`);

before(async () => {
  await site.listen();
  for (const page of PAGES) site.pages.set(`/${page}`, `<p>${page}</p>`);
  lcc = new WholeLcc(site);
  await lcc.addProvider();
  lcc.start();
  await lcc.deliver(
    'partial',
    PAGES.map(page => urlTag(page)),
  );
  await lcc.untilIdle();
  // A replaced page: an id that goes round once.
  site.pages.set('/page-0.html', 'another page-0');
  await lcc.deliver('partial', [urlTag('page-0.html', ' len="14"')]);
  await lcc.untilIdle();
  await lcc.untilFreed();
  await lcc.stop();
});
after(async () => {
  site.close();
  await lcc.remove();
});

/** Finds just that, changes nothing by looking; repairs it; finds nothing any more. */
async function heals(kinds: readonly string[] | 'sets', where = /./): Promise<void> {
  const looked = await fsck();
  if (kinds === 'sets') assert.deepEqual([...new Set(kindsOf(looked))], ['set']);
  else assert.deepEqual(kindsOf(looked).toSorted(), kinds.toSorted());
  for (const finding of looked) {
    assert.match(finding.where, where);
    assert.ok(!finding.repaired);
  }
  assert.deepEqual(await fsck(), looked, 'looking changes nothing');
  assert.deepEqual(
    await fsck('repair'),
    looked.map(finding => ({ ...finding, repaired: true })),
  );
  assert.deepEqual(await fsck(), [], 'a second run finds nothing');
}

/** Starts the LCC: what was lost comes again, and nothing else is there. */
async function comesBack(): Promise<void> {
  lcc.start();
  await lcc.untilIdle();
  await lcc.untilFreed();
  const { rows, files } = await lcc.holdings();
  const wanted = PAGES.map(page => {
    const content = site.pages.get(`/${page}`) ?? '';
    return `${page} ${createHash('md5').update(content).digest('hex')}`;
  });
  assert.deepEqual(rows, wanted.toSorted());
  assert.equal(files, PAGES.length);
  await lcc.stop();
  assert.deepEqual(await fsck(), []);
}

test('files without rows that are most of the store stay, until it is said that they shall go', async () => {
  const names = Array.from({ length: 101 }, (_, i) => fileIdOfName({ id: 1000 + i, gen: 0 }));
  for (const name of names) {
    mkdirSync(join(store(), name, '..'), { recursive: true });
    writeFileSync(join(store(), name), 'x');
  }
  const [finding, ...more] = await fsck('repair');
  assert.deepEqual(more, []);
  assert.equal(finding?.repaired, false);
  assert.match(finding.what, /^no row points to 101 of 113 files, none is removed; .*--remove-orphans$/);
  assert.ok(names.every(name => existsSync(join(store(), name))));
  const removed = await fsck('repair', 'removeOrphans');
  assert.deepEqual([...new Set(kindsOf(removed))], ['orphan']);
  assert.equal(removed.length, 101);
  assert.deepEqual(await fsck(), []);
});

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
  // As if names had been given out twice: with checksums that are right.
  withDb(db => {
    const point = db.prepare('UPDATE lccurl SET fetched_fileid = ?, sum = NULL WHERE curl LIKE ?');
    point.run(fileIdOf('page-6.html'), '%page-7.html');
    point.run('../../etc/passwd', '%page-8.html');
    db.prepare("INSERT INTO freed(machineid, fileid) VALUES ('local', ?)").run(fileIdOf('page-9.html'));
  });
  await heals(['bad-fileid', 'free-list', 'orphan', 'orphan', 'shared-file']);
  assert.ok(existsSync('/etc/passwd'));
  await comesBack();
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

  test('the id of an orphan is given out again under its next generation', async () => {
    const [name] = withNames(names => names.reserve(1));
    assert.ok(name);
    writeFileSync(join(store(), fileIdOfName(name)), 'x');
    await heals(['orphan']);
    assert.deepEqual(
      withNames(names => names.row(name.id)),
      { id: name.id, gen: name.gen + 1, state: 'free', sound: true },
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
    withDb(db =>
      db.prepare('UPDATE lccurl SET fetched_fileid = ?, sum = NULL WHERE fetched_fileid = ?').run(far, old),
    );
    await heals(['free-list'], /000000f0\.2/);
    assert.deepEqual(
      withNames(names => names.row(0xf0)),
      { id: 0xf0, gen: 2, state: 'taken', sound: true },
    );
  });
});

describe('the queue, the sequence and the counters', () => {
  before(async () => {
    // Nobody fetches: what is delivered waits.
    exec('UPDATE pidb SET paused = 1');
    lcc.start();
    for (const set of [1, 2, 3])
      await lcc.deliver(
        'partial',
        [1, 2, 3].map(i => urlTag(`waits-${set}-${i}.html`)),
      );
    while (one('SELECT count(*) FROM qdb') !== 9) await new Promise(resolve => setTimeout(resolve, 10));
    await lcc.stop();
    assert.deepEqual(await fsck(), []);
  });
  const order = () => withDb(db => db.prepare('SELECT curl FROM qdb ORDER BY pos').pluck().all());

  for (const [what, sql, kinds] of [
    ['a set that is missing', 'DELETE FROM qpsdb WHERE psetid = (SELECT max(psetid) FROM qpsdb)', 'sets'],
    [
      'sets that overlap',
      'UPDATE qpsdb SET lastpos = lastpos + 1 WHERE psetid = (SELECT min(psetid) FROM qpsdb)',
      'sets',
    ],
    [
      'a row that says it is of another set',
      'UPDATE qdb SET psetid = 999 WHERE pos = (SELECT max(pos) - 1 FROM qdb)',
      'sets',
    ],
    ['filesused', 'UPDATE pidb SET filesused = filesused + 1', ['counter']],
    ['spaceused', 'UPDATE pidb SET spaceused = 0', ['counter']],
    ['nurlproc', 'UPDATE pidb SET nurlproc = nurlproc - 1', ['counter']],
    ['nurlerrs', 'UPDATE pidb SET nurlerrs = 5', ['counter']],
    ['numbers beyond the last', "UPDATE counter SET value = value - 1 WHERE name = 'seq'", ['sequence']],
    [
      'another number up to which deletions are said to be forgotten',
      "UPDATE counter SET value = value + 1 WHERE name = 'purged'",
      ['sequence'],
    ],
    [
      'a number used twice',
      `UPDATE counter SET value = 1000000 WHERE name = 'unsummed'; UPDATE tombstone SET sum = NULL,
         seq = (SELECT max(seq) FROM lccurl) WHERE seq = (SELECT max(seq) FROM tombstone)`,
      ['sequence'],
    ],
  ] as const) {
    test(`${what}: put right, the order kept`, async () => {
      const before = order();
      exec(sql);
      await heals(kinds);
      assert.deepEqual(order(), before);
    });
  }

  for (const [table, sql] of [
    ['the queue', "UPDATE qdb SET mimetype = 'text/hTml' WHERE curl LIKE '%waits-2-2%'"],
    ['the LCC DB', "UPDATE lccurl SET mtime = '2026-11-20T10:13:01Z' WHERE curl LIKE '%page-11.html'"],
  ] as const) {
    test(`a row of ${table} that does not agree with its sum goes, and its provider is asked for a full set`, async () => {
      exec(`UPDATE pidb SET fullsetwanted = NULL; ${sql}`);
      assert.deepEqual(kindsOf(await fsck()), ['damaged-row']);
      assert.ok((await fsck('repair')).every(({ repaired }) => repaired));
      assert.deepEqual(await fsck(), []);
      assert.equal(one('SELECT fullsetwanted FROM pidb'), 'cache crash');
    });
  }

  for (const [table, sql] of [
    ['a deletion', 'UPDATE tombstone SET pid = pid + 1 WHERE seq = (SELECT max(seq) FROM tombstone)'],
    ['an old path', "UPDATE oldpath SET fileid = 'other' WHERE seq = (SELECT max(seq) FROM oldpath)"],
  ] as const) {
    test(`${table} that does not agree with its sum goes, and cursors begin anew`, async () => {
      exec(sql);
      await heals(['damaged-row'], /^(tombstone|oldpath) \d+$/);
      const [purged, seq] = ['purged', 'seq'].map(name =>
        one(`SELECT value FROM counter WHERE name = '${name}'`),
      );
      assert.equal(purged, seq);
    });
  }

  test('a set whose urls are all gone is no fault, nor the oldest that waits; a repair removes it', async () => {
    exec(
      'INSERT INTO qpsdb(psetid, starttimeslot, pid, firstpos, lastpos, absorbedat) VALUES (0, -1, 7, 0, 0, 1)',
    );
    assert.deepEqual(await fsck(), []);
    withDb(db => assert.ok(readQueueSummary(db, Date.now(), 24).oldest > 1));
    assert.deepEqual(await fsck('repair'), []);
    assert.equal(one('SELECT count(*) FROM qpsdb WHERE psetid = 0'), 0);
  });

  test('whatever is damaged in whichever page, a look at the database tells of it and goes to its end', async () => {
    withDb(db => db.pragma('wal_checkpoint(TRUNCATE)'));
    const path = join(lcc.home, 'lcc.db');
    const sound = readFileSync(path);
    const told = new Set<string>();
    for (let offset = 4096; offset < sound.length; offset += 4096) {
      for (const at of [0, 3, 8, 2000, 4090]) {
        const damaged = Buffer.from(sound);
        damaged.fill(0xa5, offset + at, offset + at + 3);
        writeFileSync(path, damaged);
        const findings = await fsck('quick').catch((error: unknown) => {
          assert.fail(`page ${offset / 4096}, byte ${at}: ${String(error)}`);
        });
        for (const { what } of findings) told.add(what.replace(/\d+/g, 'N'));
      }
    }
    writeFileSync(path, sound);
    assert.ok(told.has('database disk image is malformed'));
    assert.ok(told.has('damaged (database disk image is malformed): not everything could be looked at'));
    assert.deepEqual(await fsck(), []);
  });

  test('a damaged error of a url goes untold; a damaged provider is left to its operator', async () => {
    exec(
      "INSERT INTO pierr(pid, code, text, attrs, sum) VALUES ((SELECT pid FROM pidb), 404, 'x', ' curl=\"a\"', 1); UPDATE pidb SET nurlerrs = 1",
    );
    await heals(['damaged-row'], /^pierr \d+$/);
    assert.equal(one('SELECT nurlerrs FROM pidb'), 0);
    withDb(db => {
      new Terms(db).confirm(Number(one('SELECT pid FROM pidb')));
      damageProviders(db, 'UPDATE pidb SET filesmax = filesmax + 1');
    });
    for (const how of [[], ['repair']] as const) {
      const [finding, ...more] = await fsck(...how);
      assert.deepEqual(
        [finding?.kind, finding?.repaired, finding?.remains],
        ['damaged-provider', false, true],
      );
      assert.match(finding?.what ?? '', /lccpidb set --pid=\d+ --confirm/);
      assert.deepEqual(more, []);
    }
    exec('UPDATE pidb SET filesmax = filesmax - 1');
    assert.deepEqual(await fsck(), []);
  });

  test('a database that SQLite finds damaged is set aside, and a new one begun with what can be read', async () => {
    const page = Number(one("SELECT rootpage FROM sqlite_schema WHERE name = 'lccurl_seq'"));
    withDb(db => db.pragma('wal_checkpoint(TRUNCATE)'));
    const fd = openSync(join(lcc.home, 'lcc.db'), 'r+');
    writeSync(fd, Buffer.alloc(4096, 0xa5), 0, 4096, (page - 1) * 4096);
    closeSync(fd);
    assert.ok(kindsOf(await fsck()).includes('database'));
    assert.ok((await fsck('repair')).every(({ repaired }) => repaired));
    assert.deepEqual(await fsck(), []);
    assert.ok(readdirSync(lcc.home).some(name => /^lcc\.db\.damaged-\d+$/.test(name)));
    assert.ok(Number(one('SELECT count(*) FROM lccurl')) > 0);
  });
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
  withDb(db => db.prepare("INSERT OR REPLACE INTO store VALUES ('elsewhere', 's', 3)").run());
  await fsck('repair');
  const synced = () =>
    withDb(db => db.prepare("SELECT syncedseq FROM store WHERE machineid = 'elsewhere'").pluck().get());
  assert.equal(synced(), 3);
  await fsck('repair', 'recheck');
  assert.equal(synced(), 0);
});
