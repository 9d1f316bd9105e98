/** A store that is not where it was: not mounted, or lost. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { startDaemon } from '../support/daemon.js';
import { ROOT } from '../support/tree.js';
import { Site, urlTag, WholeLcc } from '../support/whole-lcc.js';

const PAGES = ['a', 'b', 'c'];
const site = new Site();
let lcc: WholeLcc;

const store = () => join(lcc.home, 'store');
const aside = () => join(lcc.home, 'store.unmounted');
const storeLine = () =>
  `store\t${store()}\tis another store, though rows point to files of "local"; mount theirs, or if it is lost run lccfsck --repair --store-lost\n`;

function fsck(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const env = { ...process.env, LCC_HOME: lcc.home, LCC_CONFIG: '' };
  return spawnSync(process.execPath, [join(ROOT, 'bin/lccfsck'), ...args], { env, encoding: 'utf8' });
}

/** The end of a Bot Manager that a Queue Manager does not want. */
async function refused(): Promise<{ status: number | string; log: string }> {
  const qm = startDaemon('lccd-qm', lcc.home, [
    `--listen-uns=unix:${lcc.home}/u.sock`,
    `--listen-bm=unix:${lcc.home}/b.sock`,
  ]);
  await qm.ready;
  const bm = startDaemon('lccd-bm', lcc.home, [
    `--source=unix:${lcc.home}/b.sock`,
    `--listen=unix:${lcc.home}/r.sock`,
    `--store=${store()}`,
  ]);
  const status = await bm.ended;
  qm.child.kill('SIGTERM');
  await qm.ended;
  assert.match(qm.log(), /a Bot Manager is refused/);
  return { status, log: bm.log() };
}

before(async () => {
  await site.listen();
  for (const page of PAGES) site.pages.set(`/${page}`, page);
  lcc = new WholeLcc(site);
  await lcc.addProvider();
  lcc.start();
  await lcc.deliver(
    'partial',
    PAGES.map(page => urlTag(page)),
  );
  await lcc.untilIdle();
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

test('lccq says so once instead of advice for each row: 78', () => {
  const env = { ...process.env, LCC_HOME: lcc.home, LCC_CONFIG: '' };
  const args = [join(ROOT, 'bin/lccq'), '--format=jsonl', '--content'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  assert.deepEqual(
    [status, stdout, stderr],
    [
      78,
      '',
      `lccq: ${store()}: rows point to files of machine "local" in another store than this one; mount that one, or stop lccd and run lccfsck --repair --store-lost\n`,
    ],
  );
});

test('a look at it does not advise the repair that its finding warns of', () => {
  const { status, stdout, stderr } = fsck('--quick');
  assert.deepEqual([status, stdout], [1, storeLine()]);
  assert.match(stderr, /: 3 rows, their store is not here, 0 files, 0 bytes read: 1 found, 0 repaired\n$/);
});

test('a repair leaves its rows alone', () => {
  const { status, stdout } = fsck('--repair');
  assert.deepEqual([status, stdout], [1, storeLine()]);
});

test('mounted again, everything is as it was', async () => {
  rmSync(store(), { recursive: true });
  renameSync(aside(), store());
  assert.equal(fsck().status, 0);
  lcc.start();
  await lcc.untilIdle();
  assert.equal((await lcc.holdings()).rows.length, 3);
  await lcc.stop();
});

test('a store from before stores had ids gets one, and is remembered by it', async () => {
  writeFileSync(join(store(), 'machine-id'), 'local\n');
  // The queue manager of that time knew of none either.
  assert.equal(fsck('--repair', '--store-lost').status, 0);
  lcc.start();
  await lcc.untilIdle();
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
    const { status, stdout, stderr } = fsck('--repair', '--store-lost');
    assert.equal(status, 0, stdout);
    assert.match(
      stderr,
      /the store of machine "local" is given up, and with it the deletion of 0 files and of 0 pages of them in spool\/fsm/,
    );
    assert.equal(stdout.match(/^missing-file\t.*\trepaired$/gm)?.length, 3, stdout);
    lcc.start();
    // A page more, so that names of the lost store come again for other content.
    site.pages.set('/aa', 'aa');
    await lcc.deliver('partial', [urlTag('aa')]);
    await lcc.untilIdle();
    const { rows } = await lcc.holdings();
    assert.deepEqual(
      rows.filter(row => row.includes('but said')),
      [],
    );
    assert.equal(rows.length, 4);
    await lcc.stop();
    assert.equal(fsck().status, 0);
    site.pages.delete('/aa');
    lcc.start();
    await lcc.deliver('partial', [`<url curl="aa" mimetype="text/html" op="delete"/>`]);
    await lcc.untilIdle();
    await lcc.untilFreed();
    await lcc.stop();
  });
}

test('a machine that never comes back is forgotten with the deletions that wait for it, and that is said', () => {
  const db = openDatabase(join(lcc.home, 'lcc.db'));
  db.exec("INSERT INTO freed(machineid, fileid) VALUES ('m2', '1.html'), ('m2', '2.html')");
  db.close();
  const empty = mkdtempSync(join(lcc.home, 'nothing-'));
  const { status, stderr } = fsck('--repair', '--store-lost', '--machineid=m2', `--store=${empty}`);
  assert.equal(status, 0, stderr);
  assert.match(stderr, /the store of machine "m2" is given up, and with it the deletion of 2 files/);
  const left = openDatabase(join(lcc.home, 'lcc.db'));
  assert.equal(left.prepare("SELECT count(*) FROM freed WHERE machineid = 'm2'").pluck().get(), 0);
  left.close();
});

test('--store-lost alone: 64', () => {
  const { status, stderr } = fsck('--store-lost');
  assert.equal(status, 64);
  assert.match(stderr, /--store-lost goes with --repair/);
});
