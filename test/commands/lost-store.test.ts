/** A store that is not where it was: not mounted, or lost. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';

const site = await TestSite.listen();
let lcc: Lcc;

const store = () => join(lcc.home, 'store');
const aside = () => join(lcc.home, 'store.unmounted');
const storeLine = () =>
  `store\t${store()}\tis another store, though rows point to files of "local"; mount theirs, or if it is lost run lccfsck --repair --store-lost\n`;

const fsck = (options = '') => lcc.sh(`lccfsck ${options}`);

/** The end of a Bot Manager that a Queue Manager does not want. */
async function refused(): Promise<{ status: number | string; log: string }> {
  const qm = lcc.startQueueManager();
  await qm.ready;
  const bm = lcc.startDaemon(
    'lccd-bm',
    `--source=unix:${lcc.home}/b.sock`,
    `--listen=unix:${lcc.home}/r.sock`,
    `--store=${store()}`,
  );
  const status = await bm.ended;
  await qm.stop();
  assert.match(qm.log, /Bot Manager refused/);
  return { status, log: bm.log };
}

before(async () => {
  lcc = await startLcc(site.urlOf('/'));
  await lcc.publish(site, { a: 'a', b: 'b', c: 'c' });
  await lcc.stop();
});
after(async () => {
  site.close();
  await lcc.remove();
});

test('a store made anew while rows point into another is given no work: 78, and says what to do', async () => {
  renameSync(store(), aside());
  for (let start = 0; start < 2; start++) {
    const { status, log } = await refused();
    assert.equal(status, 78, log);
    assert.ok(
      log.includes(
        `${store()}: rows point to files of machine \\"local\\" in another store than this one; mount that one, or stop lccd and run lccfsck --repair --store-lost`,
      ),
      log,
    );
  }
});

test('lccq says so once instead of advice for each row: 78', async () => {
  const { status, stdout, stderr } = await lcc.sh('lccq --format=jsonl --content');
  assert.deepEqual(
    [status, stdout, stderr],
    [
      78,
      '',
      `lccq: ${store()}: rows point to files of machine "local" in another store than this one; mount that one, or stop lccd and run lccfsck --repair --store-lost\n`,
    ],
  );
});

test('a look at it does not advise the repair that its finding warns of', async () => {
  const { status, stdout, stderr } = await fsck('--quick');
  assert.deepEqual([status, stdout], [1, storeLine()]);
  assert.match(stderr, /: 3 rows, their store is not here, 0 files, 0 bytes read: 1 found, 0 repaired\n$/);
});

test('a repair leaves its rows alone', async () => {
  const { status, stdout } = await fsck('--repair');
  assert.deepEqual([status, stdout], [1, storeLine()]);
});

test('mounted again, everything is as it was', async () => {
  rmSync(store(), { recursive: true });
  renameSync(aside(), store());
  assert.equal((await fsck()).status, 0);
  await lcc.start();
  await lcc.idle();
  assert.equal((await lcc.holdings()).rows.length, 3);
  await lcc.stop();
});

test('a store from before stores had ids gets one, and is remembered by it', async () => {
  writeFileSync(join(store(), 'machine-id'), 'local\n');
  // The queue manager of that time knew of none either.
  assert.equal((await fsck('--repair --store-lost')).status, 0);
  await lcc.start();
  await lcc.idle();
  assert.equal((await lcc.holdings()).rows.length, 3);
  await lcc.stop();
  assert.match(readFileSync(join(store(), 'machine-id'), 'utf8'), /^local\n[\da-f-]{36}\n$/);
});

for (const [what, leave] of [
  ['with nothing in its place', () => undefined],
  ['with a new one in its place', refused],
] as const) {
  test(`a lost store, ${what}: told so, lccfsck has everything fetched again, under its own content`, async () => {
    rmSync(store(), { recursive: true });
    await leave();
    const { status, stdout, stderr } = await fsck('--repair --store-lost');
    assert.equal(status, 0, stdout);
    assert.match(
      stderr,
      /the store of machine "local" is given up, and with it the deletion of 0 files and of 0 pages of them in spool\/fsm/,
    );
    assert.equal(stdout.match(/^missing-file\t.*\trepaired$/gm)?.length, 3, stdout);
    await lcc.start();
    // A page more, so that names of the lost store come again for other content.
    await lcc.publish(site, { aa: 'aa' });
    const { rows } = await lcc.holdings();
    assert.deepEqual(
      rows.filter(row => row.includes('but said')),
      [],
    );
    assert.equal(rows.length, 4);
    await lcc.stop();
    assert.equal((await fsck()).status, 0);
    site.pages.delete('/aa');
    await lcc.start();
    await lcc.deliver('partial', [urlTag('aa', ' op="delete"')]);
    await lcc.idle();
    await lcc.freed();
    await lcc.stop();
  });
}

test('a machine that never comes back is forgotten with the deletions that wait for it, and that is said', async () => {
  const db = openDatabase(join(lcc.home, 'lcc.db'));
  db.exec("INSERT INTO freed(machineid, fileid) VALUES ('m2', '1.html'), ('m2', '2.html')");
  db.close();
  const empty = mkdtempSync(join(lcc.home, 'nothing-'));
  const { status, stderr } = await fsck(`--repair --store-lost --machineid=m2 --store=${empty}`);
  assert.equal(status, 0, stderr);
  assert.match(stderr, /the store of machine "m2" is given up, and with it the deletion of 2 files/);
  const left = openDatabase(join(lcc.home, 'lcc.db'));
  assert.equal(left.prepare("SELECT count(*) FROM freed WHERE machineid = 'm2'").pluck().get(), 0);
  left.close();
});

test('--store-lost alone: 64', async () => {
  const { status, stderr } = await fsck('--store-lost');
  assert.equal(status, 64);
  assert.match(stderr, /--store-lost goes with --repair/);
});
