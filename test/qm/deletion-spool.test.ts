/** Deletions for machines that are away: the real Queue Manager, killed at each step, and a machine that comes back. */
import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { silentLog } from '../../src/lib/log.js';
import { Spool } from '../../src/lib/spool.js';
import { DeletionSpool } from '../../src/qm/deletion-spool.js';
import { until } from '../support/until.js';
import { Bm, Qm } from '../support/queue-manager.js';
import { Bench } from './support.js';

const PAGE = 10;
const TOML = `[qm]\nfsm_page_files = ${PAGE}\nfsm_away_ms = 0\n`;
const FILES = Array.from({ length: 2 * PAGE + 5 }, (_, i) => `00/00/${i.toString(16).padStart(8, '0')}.0`);

/** A Queue Manager with deletions for machine m2, which is away. */
function prepare(): Qm {
  const qm = new Qm(TOML);
  const db = openDatabase(qm.dbPath);
  const add = db.prepare("INSERT INTO freed(machineid, fileid) VALUES ('m2', ?)");
  db.transaction(() => FILES.forEach(file => add.run(file)))();
  db.close();
  return qm;
}
const entries = (qm: Qm, part = 'new') => {
  const dir = join(qm.home, 'spool/fsm', part);
  return existsSync(dir) ? readdirSync(dir) : [];
};
const waiting = (qm: Qm) => Number(qm.rows('SELECT count(*) AS n FROM freed')[0]?.['n']);

/** Lets m2 stay away, then come back; starts the Queue Manager whenever it dies. @returns what m2 was told to delete */
async function awayAndBack(
  crashAt?: string,
  spoil?: (qm: Qm) => void,
): Promise<{ deleted: string[]; deaths: number; qm: Qm }> {
  const qm = prepare();
  const env: Record<string, string> =
    crashAt === undefined ? {} : { LCC_CRASH_AT: crashAt, LCC_CRASH_ONCE: join(qm.home, 'crashed') };
  let deaths = 0;
  const alive = async () => {
    const child = qm.daemon?.child;
    if (child?.exitCode === null && child.signalCode === null) return;
    if (child !== undefined) deaths++;
    await qm.start(env);
  };
  await until('pages leave the database', async () => {
    await alive();
    return waiting(qm) <= 5 && entries(qm).length >= 2;
  });
  spoil?.(qm);
  const deleted: string[] = [];
  const connect = () => {
    const bm = new Bm(qm, { machineId: 'm2' });
    bm.socket.on('error', () => undefined);
    return bm;
  };
  let bm = connect();
  // A page that returns is in the database before it leaves the spool.
  await until('pages return, and their files are deleted', async () => {
    const before = deaths;
    await alive();
    if (deaths > before) {
      deleted.push(...bm.deletes.map(({ fileId }) => fileId));
      bm.close();
      bm = connect();
    }
    return entries(qm).length === 0 && waiting(qm) === 0;
  });
  deleted.push(...bm.deletes.map(({ fileId }) => fileId));
  bm.close();
  return { deleted: [...new Set(deleted)].toSorted(), deaths, qm };
}

test('pages of deletions leave the database while their machine is away, and return when it is here', async () => {
  const { deleted, qm } = await awayAndBack();
  assert.deepEqual(deleted, FILES);
  await qm.close();
});

for (const name of [
  'qm.fsm.written',
  'qm.fsm.synced',
  'qm.fsm.renamed',
  'qm.fsm.dirsynced',
  'qm.fsm.moved',
  'qm.fsm.returned',
  'qm.fsm.removed',
]) {
  test(`killed at ${name}: every file is deleted all the same`, async () => {
    const { deleted, deaths, qm } = await awayAndBack(name);
    assert.deepEqual([deleted, deaths], [FILES, 1]);
    await qm.close();
  });
}

for (const crashAt of [undefined, 'qm.fsm.setaside']) {
  test(`a damaged page is set aside, never believed; the others return${crashAt === undefined ? '' : ', killed there too'}`, async () => {
    const { deleted, deaths, qm } = await awayAndBack(crashAt, each => {
      const path = join(each.home, 'spool/fsm/new', entries(each)[0] ?? '');
      const fd = openSync(path, 'r+');
      writeSync(fd, Buffer.from([0xff]), 0, 1, statSync(path).size - 30);
      closeSync(fd);
    });
    assert.equal(deaths, crashAt === undefined ? 0 : 1);
    assert.deepEqual(deleted, FILES.slice(PAGE));
    assert.equal(entries(qm, 'bad').length, 1);
    await qm.close();
  });
}

test('a machine away for a moment, less than a page, or a full spool: deletions stay in the database', async () => {
  const bench = new Bench();
  const add = bench.db.prepare('INSERT INTO freed(machineid, fileid) VALUES (?, ?)');
  for (let i = 0; i < PAGE; i++) add.run('m2', `f${i}`);
  for (let i = 1; i < PAGE; i++) add.run('m3', `f${i}`);
  let maxBytes = 0;
  const spool = new Spool({
    dir: join(bench.dir, 'fsm'),
    steps: 'test',
    fail: error => assert.fail(String(error)),
  });
  const fsm = new DeletionSpool({
    spool,
    store: bench.store,
    clock: bench.clock,
    log: silentLog,
    pageFiles: PAGE,
    awayMs: 60_000,
    get maxBytes() {
      return maxBytes;
    },
    isHere: () => false,
    returned: () => assert.fail('nobody is here'),
    failed: error => assert.fail(String(error)),
  });
  fsm.start();
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 1000) {
      bench.clock.advance(1000);
      for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve));
    }
  };
  await pass(30_000);
  assert.equal(fsm.entries, 0, 'away for a moment');
  await pass(60_000);
  assert.equal(fsm.entries, 0, 'the spool is full');
  maxBytes = 1e6;
  await pass(3000);
  while (fsm.entries === 0) await pass(1000);
  await fsm.stop();
  assert.deepEqual(bench.all('SELECT DISTINCT machineid FROM freed'), [{ machineid: 'm3' }]);
  bench.close();
});

test('a machine that is back with many pages is asked for a page, not for one for each that waits', async t => {
  const bench = new Bench();
  const add = bench.db.prepare("INSERT INTO freed(machineid, fileid) VALUES ('m2', ?)");
  for (let i = 0; i < PAGE; i++) add.run(`f${i}`);
  const spool = new Spool({
    dir: join(bench.dir, 'fsm'),
    steps: 'test',
    fail: error => assert.fail(String(error)),
  });
  for (let i = 0; i < 50; i++) {
    const writer = spool.create({ machineid: 'm2' });
    writer.write(`g${i}\n`);
    await writer.commit('m2');
  }
  const asked = { looks: 0, pages: 0 };
  const { freed } = bench.store;
  const page = freed.page.bind(freed);
  t.mock.method(freed, 'page', (...asking: Parameters<typeof page>) => {
    asked.pages++;
    return page(...asking);
  });
  const machines = freed.machines.bind(freed);
  freed.machines = () => {
    asked.looks++;
    return machines();
  };
  const fsm = new DeletionSpool({
    spool,
    store: bench.store,
    clock: bench.clock,
    log: silentLog,
    pageFiles: PAGE,
    awayMs: 0,
    maxBytes: 1e6,
    isHere: () => true,
    returned: () => assert.fail('there is a page to be done with first'),
    failed: error => assert.fail(String(error)),
  });
  fsm.start();
  await until('it looks for the third time', () => {
    bench.clock.advance(1000);
    return asked.looks >= 3;
  });
  await fsm.stop();
  assert.equal(asked.pages, asked.looks);
  bench.close();
});
