/** Cursors against random histories: whatever fails or dies in between, an index ends up equal to the LCC. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import fc from 'fast-check';
import { TestCache } from '../support/cache.js';
import { runLccq } from '../support/lccq.js';

const URLS = ['http://x/1', 'http://x/2', 'http://x/3'];

const change = fc.record({
  what: fc.constantFrom('put', 'put', 'remove'),
  curl: fc.constantFrom(...URLS),
  burl: fc.constantFrom(undefined, '', ...URLS),
});
/** What becomes of one run; all but `taken` and `committed` leave the same changes for the next one, or may. */
const ends = [
  'taken',
  'died moved',
  'fails',
  'takes half',
  'committed',
  'not committed',
  'died whole',
] as const;
const history = fc.array(
  fc.record({
    changes: fc.array(change, { minLength: 1, maxLength: 6 }),
    end: fc.constantFrom(...ends),
    limit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  }),
  { minLength: 2, maxLength: 5 },
);
type History = typeof history extends fc.Arbitrary<infer T> ? T : never;
type End = (typeof ends)[number];

/** What takes the stream; the others read it from standard output. */
const CMDS: Partial<Record<End, string>> = {
  taken: 'cat >"$1"',
  'died moved': 'cat >"$1"',
  fails: 'cat >"$1"; exit 3',
  'takes half': 'head -n 1 >"$1"; exit 3',
};

/** An index that is kept by one format. */
interface Index {
  args: string[];
  take(lines: string[]): void;
  /** What it holds, and what it should hold. */
  both(): [unknown, unknown];
}

function byId(cache: TestCache): Index {
  const pages = new Map<number, string>();
  return {
    args: ['--format=jsonl', '--fields=op,id,burl,md5'],
    take(lines) {
      for (const line of lines) {
        const { op, id, burl, md5 } = JSON.parse(line) as {
          op: string;
          id: number;
          burl: string;
          md5: string;
        };
        if (op === 'delete') pages.delete(id);
        else pages.set(id, `${burl} ${md5}`);
      }
    },
    both: () => [
      pages,
      new Map(
        cache.db
          .prepare<[], [number, string]>(`SELECT id, coalesce(burl, curl) || ' ' || md5 FROM lccurl`)
          .raw()
          .all(),
      ),
    ],
  };
}

/** As ht://Dig: each URL told is asked for. */
function byUrl(cache: TestCache): Index {
  const pages = new Map<string, string>();
  const shown = () =>
    new Map(
      cache.db
        .prepare<[], [string, string]>(
          `SELECT coalesce(burl, curl), md5 FROM lccurl WHERE burl IS NOT '' ORDER BY seq`,
        )
        .raw()
        .all(),
    );
  return {
    args: ['--format=changed-urls'],
    take(lines) {
      const now = shown();
      for (const url of lines) {
        const page = now.get(url);
        if (page === undefined) pages.delete(url);
        else pages.set(url, page);
      }
    },
    both: () => [pages, shown()],
  };
}

function runOnce(cache: TestCache, index: Index, end: End, limit: number | undefined): void {
  const cursor = join(cache.home, 'test.cursor');
  const out = join(cache.home, 'out');
  rmSync(out, { force: true });
  const some = [`--cursor=${cursor}`, ...index.args, ...(limit === undefined ? [] : [`--limit=${limit}`])];
  const whole = (text: string) => index.take(text.split('\n').slice(0, -1));
  const script = CMDS[end];
  if (script === undefined) {
    const ran = runLccq(cache, some, { LCC_CRASH_AT: end === 'died whole' ? 'cu.cursor.offered' : '' });
    whole(ran.stdout.toString());
    if (end === 'committed') assert.equal(runLccq(cache, [`--commit=${cursor}`]).status, 0, ran.stderr);
    return;
  }
  const step = end === 'died moved' ? 'cu.cursor.advanced' : '';
  const { status } = runLccq(cache, [...some, '--', 'sh', '-c', script, 'sh', out], { LCC_CRASH_AT: step });
  if (end === 'taken') assert.equal(status, 0);
  if (existsSync(out)) whole(readFileSync(out, 'utf8'));
}

function live(cache: TestCache, index: Index, past: History): void {
  let version = 0;
  for (const { changes, end, limit } of past) {
    for (const { what, curl, burl } of changes) {
      const isHeld = cache.db.prepare('SELECT 1 FROM lccurl WHERE curl = ?').get(curl) !== undefined;
      if (what === 'put')
        cache.put({ curl, content: `${++version}`, ...(burl === undefined ? {} : { burl }) });
      else if (isHeld) cache.remove(curl);
    }
    runOnce(cache, index, end, limit);
  }
  runOnce(cache, index, 'taken', undefined);
  assert.deepEqual(...index.both());
}

for (const [name, indexOf] of [
  ['rows by id', byId],
  ['pages by URL', byUrl],
] as const) {
  it(`an index of ${name} equals the LCC in the end, whichever runs failed or died before`, () => {
    fc.assert(
      fc.property(history, past => {
        const cache = new TestCache();
        try {
          live(cache, indexOf(cache), past);
        } finally {
          cache.close();
        }
      }),
      // Each run is many processes: a counterexample as it was found is soon enough.
      { numRuns: 6, endOnFailure: true },
    );
  });
}
