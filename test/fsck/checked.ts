/** An LCC that holds some pages and has been stopped, what lccfsck finds of it, and what comes back when it starts. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { before } from 'node:test';
import { NamesDb } from '../../src/db/names/names.js';
import { openDatabase, type Db } from '../../src/db/sqlite/open.js';
import { runFsck } from '../../src/fsck/run.js';
import type { Extent, Finding } from '../../src/fsck/types.js';
import { Lcc } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { atEnd } from '../support/at-end.js';

export const site = await TestSite.listen();
export const lcc = new Lcc(`${site.url}/`);

/** What the last check looked at. */
export let looked: Extent;

/** Checks the LCC in this process. */
export async function fsck(
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
      clearDir: join(lcc.home, 'clear'),
      repair: options.includes('repair'),
      quick: options.includes('quick'),
      storeLost: options.includes('storeLost'),
      startEmpty: false,
      shard: 0,
      restored: options.includes('restored'),
      removeOrphans: options.includes('removeOrphans'),
      recheck: options.includes('recheck'),
      nowMs: Date.now,
    },
    { found: finding => void findings.push(finding), note: () => undefined, advance: undefined },
  ));
  return findings;
}
export const kindsOf = (findings: readonly Finding[]) => findings.map(({ kind }) => kind);

export const store = () => join(lcc.home, 'store');
export function withDb<T>(work: (db: Db) => T): T {
  const db = openDatabase(join(lcc.home, 'lcc.db'));
  try {
    return work(db);
  } finally {
    db.close();
  }
}
export function withNames<T>(work: (names: NamesDb) => T): T {
  const names = new NamesDb(join(store(), 'names.db'));
  try {
    return work(names);
  } finally {
    names.close();
  }
}
export const one = (sql: string, ...values: unknown[]) =>
  withDb(db =>
    db
      .prepare(sql)
      .pluck()
      .get(...values),
  );
export const exec = (sql: string) => withDb(db => void db.exec(sql));
export const fileIdOf = (page: string) =>
  String(one('SELECT fetched_fileid FROM lccurl WHERE curl = ?', `${site.url}/${page}`));
export const pathOf = (page: string) => join(store(), fileIdOf(page));

export const PAGES = Array.from({ length: 12 }, (_, i) => `page-${i}.html`);

before(async () => {
  await lcc.addProvider();
  await lcc.start();
  await lcc.publish(site, Object.fromEntries(PAGES.map(page => [page, `<p>${page}</p>`])));
  // A replaced page: an id that goes round once.
  await lcc.publish(site, { 'page-0.html': 'another page-0' });
  await lcc.freed();
  await lcc.stop();
});
atEnd(async () => {
  site.close();
  await lcc.remove();
});

/** Finds just that, changes nothing by looking; repairs it; finds nothing any more. */
export async function heals(kinds: readonly string[] | 'sets', where = /./): Promise<void> {
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
export async function comesBack(): Promise<void> {
  await lcc.start();
  await lcc.idle();
  await lcc.freed();
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
