/** Single bits flipped in the pages of the database: what is read is of its type, or damage; no endless dying. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CacheReader } from '../../../src/db/cache/read.js';
import { raiseCounters } from '../../../src/db/sqlite/counters.js';
import { isDamage, type Db } from '../../../src/db/sqlite/open.js';
import { disagreement, rebuildSets } from '../../../src/db/queue/sets-from-urls.js';
import { Bench, ok, setsOf, url } from '../../qm/support.js';
import { errnoOf, LccError } from '../../../src/lib/errors.js';
import { Flips, startUntilDone, storeOf, unlessNoticed } from '../../support/flips.js';

const FLIPS = Number(process.env['LCC_TEST_FLIPS'] ?? 80);
const URLS = 240;
const HELD = 120;
const TABLES = [
  'qfolder',
  'queued',
  'lccurl',
  'sqlite_autoindex_queued_1',
  'sqlite_autoindex_lccurl_1',
  'lccurl_seq',
  'qpsdb',
  'qpsdb_now',
  'qpsdb_places',
  'absorbed',
];

let bench: Bench;
let flips: Flips;
const name = (i: number) => `some/rather/long/path/of/a/page-${String(i).padStart(4, '0')}.html`;

before(async () => {
  bench = new Bench();
  for (const pid of [7, 8]) {
    bench.provider(pid);
    const urls = Array.from({ length: URLS / 2 }, (_, i) =>
      url(name(i), i % 3 === 0 ? { furl: `fetch/${i}`, mtime: '2026-11-20T10:13:01Z', len: String(i) } : {}),
    );
    await bench.send(pid, urls.slice(0, 40));
    await bench.send(pid, urls.slice(40));
    for (let i = 0; i < HELD / 2; i++) bench.fetch(pid, name(i), `held ${i}`, { fileId: `file-${pid}-${i}` });
  }
  flips = new Flips(bench.db, bench.dir, TABLES);
});
after(() => bench.close());

/** What a Queue Manager does from its start until nothing waits. */
function workThrough(db: Db): void {
  raiseCounters(db);
  if (disagreement(db) !== undefined) db.transaction(() => rebuildSets(db))();
  const store = storeOf(db);
  for (const set of setsOf(store.queue)) {
    let after = set.firstpos - 1;
    for (;;) {
      const rows = store.queue.next(set, after, 50);
      const last = rows.at(-1);
      if (last === undefined) break;
      // A place that does not move would be read for ever.
      assert.ok(last.pos > after);
      after = last.pos;
      store.transaction(() => {
        for (const row of rows) {
          const index = /page-(\d+)/.exec(row.curl)?.[1];
          const result = ok(`late ${row.curl}`, { fileId: `file-${row.pid}-${Number(index)}` });
          const { pos, gen, pid, mtime } = row;
          store.results.apply(
            { pos, gen, pid, mtime, conditional: false, held: row.held === 1 },
            row.op === 1 ? result : undefined,
            1,
          );
        }
      });
    }
  }
}

/** What damage that is met leads to: SQLite reports it, or a constraint does. */
function isNoticed(error: unknown): boolean {
  const cause = error instanceof LccError ? error.cause : error;
  return isDamage(cause) || errnoOf(cause)?.startsWith('SQLITE_CONSTRAINT') === true;
}

/** @returns what was wrong */
function trial(path: string): string | undefined {
  const before = shownWrong(path);
  if (before !== undefined) return `before the start, ${before}`;
  return startUntilDone(path, workThrough, isNoticed) ?? shownWrong(path);
}

function shownWrong(path: string): string | undefined {
  let reader: CacheReader | undefined;
  try {
    reader = new CacheReader(path, 'm1');
    const columns = ['curl', 'mimetype', 'md5', 'fetched_fileid'] as const;
    for (const row of reader.rows({ sides: ['held'] }, columns))
      if (row.some(value => typeof value === 'object' && value !== null)) return `shown: ${row.join(' ')}`;
    return undefined;
  } catch (error) {
    return unlessNoticed(error);
  } finally {
    reader?.close();
  }
}

test(`of ${FLIPS} single bits flipped none makes a process end but as damaged, or for ever`, () => {
  assert.deepEqual(flips.failures(FLIPS, trial), []);
});
