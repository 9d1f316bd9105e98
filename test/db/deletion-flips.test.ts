/** Single bits flipped in what tells of deletions: no consumer is told of one that was none, or misses one unnoticed. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CacheReader } from '../../src/db/cache/read.js';
import { mendPurged, raiseCounters } from '../../src/db/counters.js';
import type { Db } from '../../src/db/open.js';
import { startOf } from '../../src/cu/cursor.js';
import { refuseLostDeletion } from '../../src/cu/windows.js';
import { ManualClock } from '../../src/lib/clock.js';
import { lookingThrough, Sums } from '../../src/qm/housekeeping/sums.js';
import { absolute, Bench, url } from '../qm/support.js';
import { Flips, startUntilDone, storeOf, unlessNoticed } from '../support/flips.js';

const FLIPS = 400;
const URLS = 200;
const TABLES = ['tombstone', 'oldpath', 'counter'];

let bench: Bench;
let flips: Flips;
let storeId: string;
/** Where consumers are when the bit is flipped. */
let cursors: number[];
const name = (i: number) => `some/rather/long/path/of/a/page-${String(i).padStart(4, '0')}.html`;
/** What is gone, and which files are, by the number of the change. */
let gone: Map<number, string>;
let left: Map<number, string>;

before(async () => {
  bench = new Bench();
  bench.provider(7);
  bench.provider(8);
  for (const pid of [7, 8]) {
    const urls = Array.from({ length: URLS / 2 }, (_, i) =>
      url(name(i), i % 3 === 0 ? { burl: `b/${i}` } : {}),
    );
    await bench.send(pid, urls);
    for (let i = 0; i < URLS / 2; i++) bench.fetch(pid, name(i), `held ${i}`, { fileId: `file-${pid}-${i}` });
  }
  for (let i = 0; i < URLS / 2; i++) await bench.send(i % 2 === 0 ? 7 : 8, [url(name(i), { op: 'delete' })]);
  const first = Number(bench.value('SELECT min(seq) FROM tombstone'));
  cursors = [first - 1, first + URLS / 8, first + URLS / 4];
  storeId = String(bench.value("SELECT value FROM meta WHERE key = 'store_id'"));
  gone = new Map(
    bench
      .all<{ seq: number; pid: number; curl: string }>('SELECT seq, pid, curl FROM tombstone')
      .map(({ seq, pid, curl }) => [seq, `${pid} ${curl}`]),
  );
  left = new Map(
    bench
      .all<{ seq: number; fileid: string }>('SELECT seq, fileid FROM oldpath')
      .map(({ seq, fileid }) => [seq, fileid]),
  );
  assert.equal(gone.size, URLS / 2);
  assert.ok([...gone.values()].includes(`7 ${absolute(name(0))}`));
  flips = new Flips(bench.db, bench.dir, TABLES);
});
after(() => bench.close());

/** What a Queue Manager does about deletions after its start. */
function lookThrough(db: Db): void {
  raiseCounters(db);
  db.transaction(() => mendPurged(db))();
  const store = storeOf(db);
  const chore = new Sums(new ManualClock(), [
    lookingThrough(
      () => store.deletions.damaged(),
      found => store.transaction(() => store.deletions.drop(found)),
    ),
  ]);
  for (let rounds = 0, runs = 0; rounds < 2; runs++) {
    assert.ok(runs < 100, 'comes to no end');
    if (chore.run() > 60_000) rounds++;
  }
}

/** @returns what a consumer with that cursor is told wrong; nothing where it is told to begin anew, or that there is damage */
function toldWrong(path: string, since: number, isLookedThrough: boolean): string | undefined {
  let reader: CacheReader | undefined;
  try {
    reader = new CacheReader(path, 'm1');
    const { highWater, purged } = reader;
    startOf('cursor', { storeId, seq: since }, { storeId: reader.storeId, highWater, purged });
    const damaged = (id: number, what: string) => {
      if (what === 'deletion') refuseLostDeletion(id, since);
    };
    const told = new Set<string>();
    for (const [seq, pid, curl] of reader.rows(
      { sides: ['gone'], sinceSeq: since },
      ['seq', 'pid', 'curl'],
      damaged,
    )) {
      if (gone.get(Number(seq)) !== `${pid} ${curl}`) return `told: ${pid} ${curl}`;
      told.add(`${pid} ${curl}`);
    }
    const paths = new Set<string>();
    for (const [seq, fileid] of reader.oldPaths({ sides: ['gone'], sinceSeq: since }, [], damaged)) {
      if (left.get(Number(seq)) !== fileid) return `told: ${fileid}`;
      paths.add(String(fileid));
    }
    if (!isLookedThrough) return undefined;
    for (const [seq, what] of gone) if (seq > since && !told.has(what)) return `not told: ${what}`;
    for (const [seq, what] of left) if (seq > since && !paths.has(what)) return `not told: ${what}`;
    return undefined;
  } catch (error) {
    return unlessNoticed(error);
  } finally {
    reader?.close();
  }
}

function trial(path: string): string | undefined {
  for (const since of cursors) {
    const wrong = toldWrong(path, since, false);
    if (wrong !== undefined) return `before the start, ${wrong}`;
  }
  return (
    startUntilDone(path, lookThrough) ??
    cursors.map(since => toldWrong(path, since, true)).find(wrong => wrong !== undefined)
  );
}

test(`of ${FLIPS} single bits flipped none makes a consumer believe a deletion that was none, or miss one`, () => {
  assert.deepEqual(flips.failures(FLIPS, trial), []);
});
