/** Copies of a live LCC that are put back after everything was killed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, beforeEach, test } from 'node:test';
import { newestMark } from '../../src/db/sqlite/marks.js';
import { openReadOnly, type Db } from '../../src/db/sqlite/open.js';
import { wentBack } from '../../src/db/sqlite/restored.js';
import { restore } from '../support/backup.js';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { longIt } from '../support/long.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

const site = await TestSite.listen();
let lcc: Lcc;

after(() => site.close());

const path = (name: string) => join(lcc.home, name);

/** What is wrong with the database as it lies there. */
const found = () => reading(db => wentBack(db, path('lcc.db')));

/** Urls that wait. */
const queued = () => reading(db => db.prepare('SELECT count(*) FROM qdb').pluck().get());

function reading<T>(look: (db: Db) => T): T {
  const db = openReadOnly(path('lcc.db'));
  try {
    return look(db);
  } finally {
    db.close();
  }
}

/** Resolves when all that was committed before is marked. */
async function marked(): Promise<void> {
  const before = newestMark(path('lcc.db'))?.number ?? 0;
  await until('a mark', () => (newestMark(path('lcc.db'))?.number ?? 0) > before);
}

/** A backup of the running database, as the sqlite3 shell's .backup makes it. */
async function backUp(): Promise<void> {
  const db = openReadOnly(path('lcc.db'));
  await db.backup(path('backup.db'));
  db.close();
}

beforeEach(async () => {
  lcc = await startLcc(site.urlOf('/'));
  for (const page of ['a', 'b', 'c']) await lcc.publish(site, { [page]: page });
});
afterEach(async () => {
  await lcc.killAll();
  await lcc.remove();
});

test('a backup made while it ran is not served; made to begin anew all is fetched as it is now', async () => {
  await backUp();
  assert.equal((await lcc.sh(`lccq --cursor ${path('cursor')}`)).status, 0);
  assert.equal((await lcc.sh(`lccq --commit ${path('cursor')}`)).status, 0);
  await lcc.publish(site, { a: 'another a' });
  site.pages.delete('/b');
  await lcc.deliver('partial', [urlTag('b', ' op="delete"')]);
  await lcc.publish(site, { d: 'd' });
  await marked();
  await lcc.killAll();
  assert.equal(found(), undefined, 'the database as it was left');
  restore(lcc);
  assert.match(found() ?? '', /^an older copy was put back \(its last change is 3, it was [56]\)/);
  assert.equal((await lcc.sh('lccfsck --repair --restored --remove-orphans')).status, 0);
  await lcc.start();
  const db = openReadOnly(path('lcc.db'));
  assert.equal(db.prepare('SELECT fullsetwanted FROM pidb').pluck().get(), 'restored from a backup');
  db.close();
  await lcc.deliver(
    'full',
    ['a', 'c', 'd'].map(page => urlTag(page)),
  );
  await lcc.idle();
  assert.deepEqual((await lcc.holdings()).rows.toSorted(), expected('a', 'c', 'd'));
  assert.equal((await lcc.sh(`lccq --cursor ${path('cursor')}`)).status, 65);
  await lcc.stop();
});

longIt('an older copy is noticed by what was queued alone', async () => {
  site.answers = false;
  await backUp();
  await lcc.deliver('partial', [urlTag('x')]);
  await until('it is in the queue', () => queued() === 1);
  await marked();
  await lcc.killAll();
  site.answers = true;
  restore(lcc);
  assert.match(found() ?? '', /^an older copy was put back \(it lacks what was noted since\)/);
});

for (const [how, isOver] of [
  ['in its place', false],
  ['over it, file by file', true],
] as const)
  longIt(`a copy of the whole home, made while it ran and put ${how}, is not served`, async () => {
    const copy = `${lcc.home}.copy`;
    // What is written and renamed meanwhile, it says that it missed.
    spawnSync('cp', ['-a', lcc.home, copy]);
    await lcc.publish(site, { a: 'another a' });
    await marked();
    await lcc.killAll();
    if (isOver) {
      for (const suffix of ['-wal', '-shm']) rmSync(path(`lcc.db${suffix}`), { force: true });
      assert.equal(spawnSync('cp', ['-a', `${copy}/.`, lcc.home]).status, 0);
      rmSync(copy, { recursive: true });
    } else {
      rmSync(lcc.home, { recursive: true });
      renameSync(copy, lcc.home);
    }
    assert.match(found() ?? '', isOver ? /^an older copy/ : /^a copy was put in its place after/);
  });

longIt('nothing was put back: it is served, however often and wherever it is killed', async () => {
  for (const place of ['qm.mark.noted', 'qm.set.complete', 'qm.mark.noted:2', 'qm.result.committed']) {
    await lcc.killAll();
    lcc.launch({ LCC_CRASH_AT: place, LCC_CRASH_ONCE: path(place) });
    const content = `at ${place}`;
    site.pages.set('/a', content);
    await lcc.deliver('partial', [urlTag('a', ` len="${content.length}"`)]);
    await until(`death at ${place}`, () => existsSync(path(place)));
    await lcc.killAll();
    assert.equal(found(), undefined, place);
    await lcc.start();
    await lcc.idle();
  }
  await lcc.stop();
  assert.equal(found(), undefined);
});

const expected = (...pages: string[]) =>
  pages.map(
    page =>
      `${page} ${createHash('md5')
        .update(site.pages.get(`/${page}`) ?? '')
        .digest('hex')}`,
  );
