import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  bytesOf,
  contentOf,
  formatCursor,
  LccError,
  openCursor,
  openLcc,
  chunksOf,
  pageMarkdownOf,
  pageTextOf,
  parseCursor,
  type Change,
  type ChangesOptions,
  type Cursor,
  type Lcc,
} from '../../../src/index.js';
import { spoil } from '../../support/damage.js';
import { TestCache } from '../../support/cache.js';
import { runLccq } from '../../support/lccq.js';

const SITE = 'http://www.example.org/';
let cache: TestCache;
let lcc: Lcc;
beforeEach(() => {
  cache = new TestCache();
  lcc = openLcc({ home: cache.home });
});
afterEach(() => {
  lcc.close();
  cache.close();
});

async function all(options?: ChangesOptions): Promise<Change[]> {
  const found: Change[] = [];
  for await (const change of lcc.changes(options)) found.push(change);
  return found;
}
const curls = (changes: readonly Change[]) =>
  changes.map(({ op, curl }) => `${op} ${curl.slice(SITE.length)}`);
const coded = (code: string) => (error: unknown) => error instanceof LccError && error.code === code;

describe('what the library is asked', () => {
  const refusals: [given: object, message: string][] = [
    [{ deleted: 'maybe' }, "deleted: 'maybe': give 'yes', 'no', 'only'"],
    [{ limit: -1 }, 'limit: -1: give a whole number, 1 or more'],
    [{ limit: 0 }, 'limit: 0: give a whole number, 1 or more'],
    [{ limit: 1.5 }, 'limit: 1.5: give a whole number, 1 or more'],
    [{ limit: '5' }, "limit: '5': give a whole number, 1 or more"],
    [{ pid: NaN }, 'pid: NaN: give a whole number, 1 or more'],
    [{ since: new Date('x') }, 'since: Invalid Date: give a Date that is one'],
    [{ until: '2026-01-01' }, "until: '2026-01-01': give a Date that is one"],
    [{ follow: 'yes' }, "follow: 'yes': give true or false"],
    [{ mime: /text/ }, 'mime: /text/: give a text'],
    [{ prefix: null }, 'prefix: null: give a text'],
    [{ cursor: { seq: 3 } }, 'cursor: { seq: 3 }: give a cursor, or one as text: STORE:SEQ'],
    [{ caughtUp: true }, 'caughtUp: true: give a function'],
    [{ signal: {} }, 'signal: {}: give an AbortSignal'],
    [
      { deletes: 'no' },
      'deletes: no such option; there are cursor, since, until, pid, prefix, mime, deleted, limit, follow, caughtUp, signal',
    ],
  ];
  for (const [given, message] of refusals)
    it(`is refused at once when it makes no sense: ${message}`, () => {
      assert.throws(() => lcc.changes(given), { code: 'usage', message });
    });

  it('may be left out, or undefined', async () => {
    cache.put({ curl: `${SITE}a` });
    assert.equal((await all({ limit: undefined, deleted: undefined, since: undefined })).length, 1);
  });

  it('is refused where it is opened, and of a text', async () => {
    assert.throws(() => openLcc({ hom: cache.home } as object), {
      code: 'usage',
      message: 'hom: no such option; there are home, config',
    });
    cache.put({ curl: `${SITE}a` });
    const [change] = await all();
    assert.ok(change);
    assert.throws(() => pageTextOf(change, 'some' as 'all'), {
      code: 'usage',
      message: "wanted: 'some': give 'readable', 'all'",
    });
  });
});

describe('the library', () => {
  it('tells what is held, with every value', async () => {
    const file = cache.put({
      curl: `${SITE}a`,
      burl: `${SITE}b`,
      mtime: '2026-11-20T10:13:01Z',
      charset: 'koi8-r',
      content: 'four',
    });
    const [change, ...more] = await all();
    assert.equal(more.length, 0);
    assert.deepEqual(change, {
      op: 'upsert',
      seq: 1,
      id: 1,
      pid: 1,
      curl: `${SITE}a`,
      mimetype: 'text/html',
      subtype: null,
      burl: `${SITE}b`,
      furl: `${SITE}a`,
      finalUrl: null,
      md5: '8cbad96aced40b3838dd9f07f6ef5772',
      len: 4,
      mtime: '2026-11-20T10:13:01Z',
      httpCharset: 'koi8-r',
      time: new Date(1_795_000_000_000),
      machineId: 'local',
      file,
      cursor: { storeId: lcc.storeId, seq: 1 },
    } satisfies Change);
  });

  it('goes on after any change, and tells deletions', async () => {
    for (const name of ['a', 'b', 'c']) cache.put({ curl: SITE + name });
    const [first] = await all();
    const text = formatCursor(first?.cursor ?? lcc.now());
    assert.deepEqual(parseCursor(text), first?.cursor);
    cache.remove(`${SITE}b`);
    assert.deepEqual(curls(await all({ cursor: text })), ['upsert c', 'delete b']);
    assert.deepEqual(await all({ cursor: lcc.now() }), []);
    assert.deepEqual(curls(await all({ deleted: 'only' })), ['delete b']);
    assert.deepEqual(curls(await all({ cursor: text, deleted: 'no' })), ['upsert c']);
  });

  it('selects by provider, prefix, mimetype, time and number', async () => {
    cache.put({ curl: `${SITE}old`, at: 1_700_000_000 });
    cache.put({ curl: `${SITE}docs/new`, pid: 2 });
    cache.put({ curl: `${SITE}docs/pdf`, mimetype: 'application/pdf' });
    assert.deepEqual(curls(await all({ since: new Date('2024-01-01') })).length, 2);
    assert.deepEqual(curls(await all({ until: new Date('2024-01-01') })), ['upsert old']);
    assert.deepEqual(curls(await all({ pid: 2 })), ['upsert docs/new']);
    assert.deepEqual(curls(await all({ prefix: `${SITE}docs/`, mime: 'text/*' })), ['upsert docs/new']);
    assert.deepEqual(curls(await all({ limit: 1 })), ['upsert old']);
  });

  it('goes on with what was not read the first time, although deletions were forgotten before', async () => {
    for (const name of ['a', 'b', 'c']) cache.put({ curl: `${SITE}${name}` });
    cache.remove(`${SITE}c`);
    cache.forgetDeletions();
    const [first] = await all({ limit: 1 });
    assert.ok(first);
    assert.deepEqual(curls(await all({ cursor: formatCursor(first.cursor) })), ['upsert b']);
    const [last] = await all({ cursor: first.cursor });
    assert.ok(last);
    cache.remove(`${SITE}a`);
    cache.forgetDeletions();
    await assert.rejects(all({ cursor: first.cursor }), { code: 'data.refused' });
  });

  it('tells how far it has come, past what is not selected, when there is no more', async () => {
    const reached: number[] = [];
    const caughtUp = ({ storeId, seq }: Cursor) => {
      assert.equal(storeId, lcc.storeId);
      reached.push(seq);
    };
    await all({ caughtUp });
    cache.put({ curl: `${SITE}a` });
    cache.fill(6000, i => `${SITE}${i}`);
    assert.deepEqual(await all({ pid: 7, caughtUp }), []);
    assert.deepEqual(reached, [0, 6001]);
    await all({ limit: 1, caughtUp });
    for await (const _ of lcc.changes({ caughtUp })) break;
    assert.deepEqual(reached, [0, 6001], 'there was more');
    cache.remove(`${SITE}a`);
    cache.forgetDeletions();
    const last = { storeId: lcc.storeId, seq: reached.at(-1) ?? 0 };
    await assert.rejects(
      all({ cursor: last, pid: 7 }),
      coded('data.refused'),
      'what not keeping it leads to',
    );
  });

  it('tells so before each wait when it follows, once all of it has been dealt with', async () => {
    const stop = new AbortController();
    const told: (string | number)[] = [];
    const caughtUp = async ({ seq }: Cursor) => {
      await new Promise<void>(resolve => void setImmediate(resolve));
      told.push(seq);
      if (seq === 1) cache.put({ curl: `${SITE}image`, mimetype: 'image/png' });
      if (seq === 2) cache.put({ curl: `${SITE}b` });
      if (seq === 3) stop.abort();
    };
    cache.put({ curl: `${SITE}a` });
    const options = { follow: true, mime: 'text/*', signal: stop.signal, caughtUp };
    await assert.rejects(async () => {
      for await (const change of lcc.changes(options)) told.push(...curls([change]));
    }, /abort/i);
    assert.deepEqual(told, ['upsert a', 1, 2, 'upsert b', 3]);
  });

  it('refuses cursors that nothing can be told from', async () => {
    cache.put({ curl: `${SITE}a` });
    cache.put({ curl: `${SITE}b` });
    cache.remove(`${SITE}a`);
    cache.forgetDeletions();
    for (const cursor of [
      { storeId: lcc.storeId, seq: 1 },
      { storeId: lcc.storeId, seq: 99 },
      '00000000-0000-0000-0000-000000000000:1',
    ])
      await assert.rejects(all({ cursor }), coded('data.refused'));
    assert.throws(() => parseCursor('17'), coded('usage'));
  });

  it('does not hold the database while the program thinks', async () => {
    cache.fill(600, i => `${SITE}${i}`);
    for await (const change of lcc.changes()) {
      if (change.seq % 100 !== 0) continue;
      cache.put({ curl: `${SITE}meanwhile${change.seq}` });
      const [{ busy, log } = { busy: 1, log: 1 }] = cache.db.pragma('wal_checkpoint(TRUNCATE)') as {
        busy: number;
        log: number;
      }[];
      assert.deepEqual([busy, log], [0, 0]);
    }
  });

  it('says that deletions were forgotten while it was read, rather than lose them', async () => {
    cache.fill(600, i => `${SITE}${i}`);
    cache.remove(`${SITE}600`);
    await assert.rejects(async () => {
      for await (const change of lcc.changes({ cursor: { storeId: lcc.storeId, seq: 1 } }))
        if (change.seq === 2) cache.forgetDeletions();
    }, coded('data.refused'));
  });

  it('follows what is committed, in order, until it is told to stop', async () => {
    cache.put({ curl: `${SITE}a` });
    const stop = new AbortController();
    const seen: string[] = [];
    await assert.rejects(
      async () => {
        for await (const change of lcc.changes({ follow: true, signal: stop.signal })) {
          seen.push(...curls([change]));
          if (seen.length === 1) cache.put({ curl: `${SITE}b` });
          if (seen.length === 2) cache.remove(`${SITE}a`);
          if (seen.length === 3) stop.abort();
        }
      },
      { name: 'AbortError' },
    );
    assert.deepEqual(seen, ['upsert a', 'upsert b', 'delete a']);
    await assert.rejects(all({ signal: AbortSignal.abort(new Error('before it began')) }), /before it began/);
  });

  it('says so when the database it follows is replaced by another', async () => {
    cache.put({ curl: `${SITE}a` });
    await assert.rejects(async () => {
      for await (const _ of lcc.changes({ follow: true, signal: AbortSignal.timeout(20_000) })) {
        renameSync(cache.dbPath, `${cache.dbPath}.old`);
        writeFileSync(cache.dbPath, '');
      }
    }, coded('data.refused'));
  });

  it('ends at once when it is closed while it waits for changes', async () => {
    const waiting = all({ follow: true });
    await new Promise(resolve => setImmediate(resolve));
    lcc.close();
    await assert.rejects(waiting, coded('usage'));
  });

  it('ends what is under way when it is closed', async () => {
    cache.put({ curl: `${SITE}a` });
    cache.put({ curl: `${SITE}b` });
    await assert.rejects(async () => {
      for await (const _ of lcc.changes({ follow: true })) lcc.close();
    }, coded('usage'));
    await assert.rejects(all(), coded('usage'));
    assert.throws(() => lcc.now(), coded('usage'));
    assert.throws(() => openLcc({ home: join(cache.home, 'nowhere') }), coded('input.missing'));
  });

  it('throws at a row that cannot be', async () => {
    cache.put({ curl: `${SITE}a` });
    cache.put({ curl: `${SITE}b` });
    spoil(cache.dbPath, "UPDATE lccurl SET md5 = x'00' WHERE curl LIKE '%b'");
    await assert.rejects(all(), coded('data.malformed'));
  });
});

describe('content in the library', () => {
  it('that was replaced or deleted meanwhile says so, and one that is only gone does not', async () => {
    const files = ['a', 'b', 'c'].map(name => cache.put({ curl: `${SITE}${name}` }));
    const changes = await all();
    cache.put({ curl: `${SITE}a`, content: 'new' });
    cache.remove(`${SITE}b`);
    for (const file of files) rmSync(file);
    const [a, b, c] = changes;
    assert.ok(a && b && c);
    for (const change of [a, b])
      assert.throws(() => bytesOf(change), { code: 'try.later', message: /replaced or deleted meanwhile/ });
    assert.throws(() => bytesOf(c), { code: 'input.missing', message: /missing; lccfsck --repair/ });
    lcc.close();
    assert.throws(() => bytesOf(a), coded('input.missing'));
  });

  it('is verified before its first byte, and comes in pieces that are the caller’s own', async () => {
    const bytes = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => i % 251));
    cache.put({ curl: SITE, content: bytes });
    const [change] = await all();
    assert.ok(change);
    const pieces: Uint8Array[] = [];
    for await (const piece of contentOf(change)) pieces.push(piece);
    assert.ok(pieces.length > 1);
    assert.ok(Buffer.concat(pieces).equals(bytes));
    assert.ok(Buffer.from(bytesOf(change)).equals(bytes));
    appendFileSync(change.file ?? '', 'x');
    await assert.rejects(contentOf(change).next(), coded('input.missing'));
    rmSync(change.file ?? '');
    assert.throws(() => bytesOf(change), coded('input.missing'));
  });

  it('is refused where there is none, or none here', async () => {
    cache.put({ curl: `${SITE}a`, machineid: 'other' });
    cache.put({ curl: `${SITE}b` });
    cache.remove(`${SITE}b`);
    for (const change of await all({ deleted: 'yes' }))
      assert.throws(() => bytesOf(change), coded('data.refused'));
  });

  it('has a title and a text where it is text', async () => {
    cache.put({ curl: `${SITE}a`, content: '<html lang=en><title>T</title><nav>n</nav><p>one<p>two' });
    cache.put({ curl: `${SITE}b`, mimetype: 'image/png', content: 'x' });
    const [page, image] = await all();
    assert.ok(page && image);
    assert.deepEqual(pageTextOf(page), { title: 'T', text: 'one\ntwo', language: 'en', charset: 'utf-8' });
    assert.equal(pageTextOf(page, 'all')?.text, 'n one two');
    const { markdown, hash, title } = pageMarkdownOf(page) ?? {};
    assert.deepEqual([title, markdown, hash?.length], ['T', 'one\n\ntwo\n', 32]);
    assert.deepEqual(
      chunksOf(page, { size: 200 }).map(({ n, text }) => [n, text]),
      [[0, 'T\none\ntwo']],
    );
    assert.throws(() => chunksOf(page, { size: 1 }), { code: 'usage' });
    assert.deepEqual([pageMarkdownOf(image), chunksOf(image)], [undefined, []]);
    assert.equal(pageTextOf(image), undefined);
  });
});

describe('cursor files in the library', () => {
  it('are those of lccq, kept from others while they are open', async () => {
    cache.put({ curl: `${SITE}a` });
    const file = join(cache.home, 'cursor');
    const position = openCursor(file);
    assert.equal(position.cursor, undefined);
    assert.throws(() => openCursor(file), coded('try.later'));
    position.save(lcc.now());
    position.close();
    assert.equal(readFileSync(file, 'utf8'), `lcc-cursor 1 ${lcc.storeId} 1\n`);
    cache.put({ curl: `${SITE}b` });
    const { stdout } = runLccq(cache, [`--cursor=${file}`, '--format=urls', '--', 'cat']);
    assert.equal(stdout.toString(), `${SITE}b\n`);
    const again = openCursor(file);
    assert.deepEqual(again.cursor, lcc.now());
    again.close();
  });
});
