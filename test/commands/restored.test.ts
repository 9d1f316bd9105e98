/** A backup of lcc.db put back, as lcc(7) says. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileIdOf } from '../../src/db/names/naming.js';
import { forgetMarks } from '../../src/db/sqlite/marks.js';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { restore } from '../support/backup.js';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';

const site = await TestSite.listen();
let lcc: Lcc;

const path = (name: string) => join(lcc.home, name);

before(async () => {
  lcc = await startLcc(site.urlOf('/'));
  await lcc.publish(site, { a: 'a' });
  await lcc.publish(site, { b: 'b' });
  await lcc.stop();
  assert.ok(!existsSync(path('lcc.db-wal')));
  copyFileSync(path('lcc.db'), path('backup.db'));
  await lcc.start();
  await lcc.publish(site, { a: 'another a' });
  await lcc.publish(site, { c: 'c' });
  assert.equal((await lcc.sh(`lccq --cursor ${path('cursor')}`)).status, 0);
  assert.equal((await lcc.sh(`lccq --commit ${path('cursor')}`)).status, 0);
  await lcc.stop();
  copyFileSync(path('lcc.db'), path('newer.db'));
});
after(async () => {
  site.close();
  await lcc.remove();
});

test('a database as it was when its Queue Manager stopped is served', async () => {
  await lcc.start();
  await lcc.idle();
  await lcc.stop();
  copyFileSync(path('lcc.db'), path('newer.db'));
});

test('an older copy is not served as if nothing had happened: 78, and what to do', async () => {
  restore(lcc);
  const qm = lcc.startQueueManager();
  assert.equal(await qm.ended, 78);
  assert.match(
    qm.log,
    /an older copy was put back \(its last change is 2, it was 4\); put the right one in its place, or stop lccd and run lccfsck --repair --restored/,
  );
  const looked = await lcc.sh('lccfsck');
  assert.equal(looked.status, 1);
  assert.match(looked.stdout, /^database\t.*an older copy was put back.*--restored$/m);
  assert.equal((await lcc.sh('lccfsck --restored')).status, 64);
});

test('a repair that does not know of it removes nothing: the newer copy may be put back yet', async () => {
  const files = storedFiles();
  const done = await lcc.sh('lccfsck --repair --remove-orphans');
  assert.equal(done.status, 1);
  assert.match(done.stdout, /^database\t.*an older copy was put back.*--restored\n$/);
  assert.deepEqual(storedFiles(), files);
  copyFileSync(path('newer.db'), path('lcc.db'));
  await lcc.start();
  await lcc.idle();
  await lcc.stop();
  assert.equal((await lcc.holdings()).rows.length, 3);
  restore(lcc);
});

test('made to begin anew it is served, wants full sets of all, and refuses cursors from before', async () => {
  const done = await lcc.sh('lccfsck --repair --restored --remove-orphans');
  assert.equal(done.status, 0, done.stdout + done.stderr);
  assert.match(done.stdout, /^database\t.*an older copy was put back.*\trepaired$/m);
  const db = openReadOnly(path('lcc.db'));
  assert.equal(db.prepare('SELECT fullsetwanted FROM pidb').pluck().get(), 'restored from a backup');
  db.close();
  await lcc.start();
  await lcc.deliver(
    'full',
    ['a', 'b', 'c'].map(page => urlTag(page)),
  );
  await lcc.idle();
  assert.equal((await lcc.holdings()).rows.length, 3);
  const stale = await lcc.sh(`lccq --cursor ${path('cursor')}`);
  assert.equal(stale.status, 65, stale.stderr);
  assert.match(stale.stderr, /resync/);
  await lcc.stop();
  await lcc.start();
  await lcc.idle();
  await lcc.stop();
});

test('what goes back without having been noted begins anew too', async () => {
  restore(lcc);
  forgetMarks(path('lcc.db'));
  const before = storeId();
  assert.equal((await lcc.sh('lccfsck --repair --restored --quick --remove-orphans')).status, 0);
  assert.notEqual(storeId(), before);
});

test('of each kind one finding is named, with the number of others; -v names all', async () => {
  const strays = Array.from({ length: 5 }, (_, i) => fileIdOf({ id: 0xff00 + i, gen: 0 }));
  const found = async (...args: string[]) => {
    mkdirSync(path('store/00/ff'), { recursive: true });
    for (const stray of strays) writeFileSync(path(`store/${stray}`), 'x');
    const done = await lcc.sh(`lccfsck --repair --restored --quick ${args.join(' ')}`);
    assert.equal(done.status, 0, done.stderr);
    assert.match(done.stderr, /: (\d+) found, \1 repaired\n$/);
    return done.stdout.split('\n').filter(line => line.startsWith('orphan\t'));
  };
  const [line, ...others] = await found();
  assert.match(
    line ?? '',
    /^orphan\t00\/ff\/0000ff0\d\.0 and 4 more \(-v names each\)\tno row points to it\trepaired$/,
  );
  assert.deepEqual(others, []);
  assert.deepEqual(
    (await found('-v')).toSorted(),
    strays.map(stray => `orphan\t${stray}\tno row points to it\trepaired`),
  );
});

for (const [what, remove] of [
  ['empty', () => writeFileSync(path('lcc.db'), '')],
  ['not there', () => rmSync(path('lcc.db'))],
] as const)
  test(`a database that is ${what} is never begun anew without a word`, async () => {
    forgetMarks(path('lcc.db'));
    copyFileSync(path('newer.db'), path('lcc.db'));
    await lcc.start();
    await lcc.idle();
    await lcc.stop();
    remove();
    const remedy = `${what}, though it was served until its change`;
    for (const command of [
      'lccq',
      'lccpidb list',
      'lccpidb add --pid=9 --root=http://b.test/',
      `lccd-qm --listen-uns=unix:${lcc.home}/u.sock --listen-bm=unix:${lcc.home}/b.sock`,
    ]) {
      const refused = await lcc.sh(command);
      assert.equal(refused.status, 78, refused.stderr);
      assert.ok(refused.stderr.includes(remedy) && refused.stderr.includes('--start-empty'), refused.stderr);
    }
    for (const options of ['', '--repair']) {
      const looked = await lcc.sh(`lccfsck ${options}`);
      assert.equal(looked.status, 1, looked.stderr);
      assert.match(looked.stdout, new RegExp(`^database\\t.*${remedy}.*--start-empty\\n$`));
    }
    assert.equal((await lcc.sh('lccfsck --repair --start-empty')).status, 0);
    assert.equal((await lcc.sh('lccpidb list')).status, 0);
  });

test('an empty database beside a store with content is warned of, with the way back', async () => {
  rmSync(path('lcc.db'), { force: true });
  forgetMarks(path('lcc.db'));
  // What was there has been removed above.
  mkdirSync(path('store/00/00'), { recursive: true });
  writeFileSync(path('store/00/00/00000001.1'), 'a page');
  const qm = lcc.startQueueManager();
  await qm.ready;
  assert.equal(await qm.stop(), 0);
  assert.match(qm.log, /"level":"warn".*database empty, but not the store; .*--restored/);
});

function storedFiles(): string[] {
  return readdirSync(path('store'), { recursive: true, encoding: 'utf8' }).sort();
}

function storeId(): unknown {
  const db = openReadOnly(path('lcc.db'));
  const id = db.prepare("SELECT value FROM meta WHERE key = 'store_id'").pluck().get();
  db.close();
  return id;
}
