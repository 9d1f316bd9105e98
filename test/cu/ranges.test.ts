import assert from 'node:assert/strict';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { formatNamed } from '../../src/cu/formats/index.js';
import { runQuery, type Query, type QueryResult } from '../../src/cu/query.js';
import { isWorthSplitting, RangeThread } from '../../src/cu/ranges.js';
import { CacheReader } from '../../src/db/cache/read.js';
import { TestCache } from '../support/cache.js';
import { ROOT } from '../support/tree.js';

const SCRIPT = join(ROOT, 'dist/bin/range-worker.cjs');
/** Two ranges of lines; many of content, the last one not whole. */
const ROWS = 5600;

let cache: TestCache;
let reader: CacheReader;
const threads: RangeThread[] = [];

before(() => {
  cache = new TestCache();
  cache.fill(ROWS, i => `http://a/${i}.html${i % 50 === 0 ? '?x=1&y=<2>' : ''}`);
});
after(() => cache.close());
afterEach(() => {
  for (const thread of threads.splice(0)) thread.stop();
  reader.close();
});

function queryOf(formatName: string, content = false): Query {
  return {
    format: formatNamed(formatName),
    selection: { sides: ['held'], sinceSeq: 0 },
    content,
    storeDir: cache.store,
    maxTextBytes: 1024 * 1024,
    nowMs: 0,
  };
}

function threadFor(query: Query, formatName: string, script = SCRIPT, patienceMs?: number): RangeThread {
  const help = { script, dbPath: cache.dbPath, machineId: 'local', formatName };
  const thread = new RangeThread(help, query, patienceMs);
  threads.push(thread);
  return thread;
}

/** What a symbolic link leads to; that of a descriptor is gone with it. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

interface Answered extends QueryResult {
  text: string;
  told: string[];
}

async function answer(query: Query, thread?: RangeThread): Promise<Answered> {
  const parts: Buffer[] = [];
  const told: string[] = [];
  const sink = { write: (chunk: string | Uint8Array) => void parts.push(Buffer.from(chunk as string)) };
  const talk = { reject: (m: string) => void told.push(m), note: (m: string) => void told.push(m) };
  const result = await runQuery(reader, query, { open: () => sink, whenEmpty: true }, talk, thread);
  return { ...result, text: Buffer.concat(parts).toString('latin1'), told };
}

describe('an answer made by two threads', () => {
  for (const [name, content] of [
    ['xml', false],
    ['xml', true],
    ['tsv', false],
    ['csv', false],
    ['jsonl', false],
    ['jsonl', true],
    ['tar', false],
  ] as const) {
    it(`is that of one: ${name}${content ? ' with content' : ''}`, async () => {
      reader = new CacheReader(cache.dbPath, 'local');
      const query = queryOf(name, content);
      const thread = threadFor(query, name);
      assert.ok(thread.lookTogether(reader));
      const alone = await answer(query);
      assert.equal(alone.records, ROWS);
      assert.deepEqual(await answer(query, thread), alone);
    });
  }

  it('is of one state of the database, whatever is committed meanwhile', async () => {
    reader = new CacheReader(cache.dbPath, 'local');
    const query = queryOf('jsonl', true);
    const alone = await answer(query);
    const thread = threadFor(query, 'jsonl');
    assert.ok(thread.lookTogether(reader));
    cache.db.exec('UPDATE lccurl SET len = len + 1 WHERE id BETWEEN 400 AND 600');
    try {
      assert.deepEqual(await answer(query, thread), alone);
      reader.renew();
      assert.notDeepEqual(await answer(query), alone);
    } finally {
      cache.db.exec('UPDATE lccurl SET len = len - 1 WHERE id BETWEEN 400 AND 600');
    }
  });

  it('reports what is left out, in its place, whoever met it', async () => {
    const altered = [300, 900, 1200];
    const turn = cache.db.prepare('UPDATE lccurl SET md5 = substr(md5, 2) || substr(md5, 1, 1) WHERE id = ?');
    altered.forEach(id => turn.run(id));
    reader = new CacheReader(cache.dbPath, 'local');
    const query = queryOf('tar');
    const thread = threadFor(query, 'tar');
    assert.ok(thread.lookTogether(reader));
    const both = await answer(query, thread);
    assert.equal(both.rejected, 3);
    assert.deepEqual(both, await answer(query));
    assert.deepEqual(
      both.told.map(text => /altered: its md5 differs/.test(text)),
      [true, true, true],
    );
    for (let i = 1; i < 32; i++) altered.forEach(id => turn.run(id));
  });

  it('takes what is too large to be handed over piece by piece', async () => {
    const large = new TestCache();
    try {
      for (let i = 1; i <= 600; i++)
        large.put({ curl: `http://a/${i}`, content: i > 250 && i < 290 ? Buffer.alloc(300_000, i) : `${i}` });
      reader = new CacheReader(large.dbPath, 'local');
      const query = { ...queryOf('tar'), storeDir: large.store };
      const help = { script: SCRIPT, dbPath: large.dbPath, machineId: 'local', formatName: 'tar' };
      const thread = new RangeThread(help, query);
      threads.push(thread);
      assert.ok(thread.lookTogether(reader));
      const made: boolean[] = [];
      for (const range of thread.ranges({ since: 0, to: 600 })) made.push(range.made !== undefined);
      assert.deepEqual(made, [false, false, false]);
      assert.deepEqual(await answer(query, thread), await answer(query));
    } finally {
      large.close();
    }
  });

  it('leaves no file open of a range that was declined half-way', async () => {
    const large = new TestCache();
    try {
      for (let i = 1; i <= 600; i++)
        large.put({
          curl: `http://a/${i}`,
          content: i > 250 && i < 260 ? Buffer.alloc(1_500_000, i) : `${i}`,
        });
      reader = new CacheReader(large.dbPath, 'local');
      const query = { ...queryOf('tar'), storeDir: large.store };
      const help = { script: SCRIPT, dbPath: large.dbPath, machineId: 'local', formatName: 'tar' };
      const thread = new RangeThread(help, query);
      threads.push(thread);
      assert.ok(thread.lookTogether(reader));
      for (const { made } of thread.ranges({ since: 0, to: 600 })) assert.equal(made, undefined);
      assert.deepEqual(
        readdirSync('/proc/self/fd')
          .map(fd => targetOf(`/proc/self/fd/${fd}`))
          .filter(target => target.startsWith(large.store)),
        [],
      );
    } finally {
      large.close();
    }
  });

  it('is made by one when the other is lost', async () => {
    reader = new CacheReader(cache.dbPath, 'local');
    const script = join(cache.home, 'lost.cjs');
    writeFileSync(script, 'process.exit(0);\n');
    const query = queryOf('tar');
    const thread = threadFor(query, 'tar', script, 50);
    assert.equal(thread.lookTogether(reader), false);
    assert.deepEqual(await answer(query, thread), await answer(query));
  });
});

describe('an answer is worth two threads', () => {
  const many = 1_000_000;
  const startOf = ({ sinceSeq = 0 }) => sinceSeq;
  const worth = (query: Query, highWater = many) => isWorthSplitting(query, { highWater, startOf });
  it('when it is long, and its records follow each from its own row', () => {
    reader = new CacheReader(cache.dbPath, 'local');
    const xml = queryOf('xml');
    const gone = { sides: ['held', 'gone'] as const, sinceSeq: 0 };
    assert.equal(worth({ ...xml, selection: gone }), worth(xml));
    assert.equal(worth(xml, 100), false);
    assert.equal(worth({ ...xml, limit: many }), false);
    assert.equal(worth({ ...queryOf('jsonl'), text: 'all' }), false);
    assert.equal(worth({ ...queryOf('tar'), selection: gone }), false);
    assert.equal(worth(queryOf('warc')), false);
  });
});
