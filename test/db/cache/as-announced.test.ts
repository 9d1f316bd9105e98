import assert from 'node:assert/strict';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { UrlRecord } from '../../../src/wire/url.js';
import { Bench, md5Of, ok, unchanged, url } from '../../qm/support.js';
import { amount } from '../../support/long.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
  bench.provider(7);
  bench.provider(8, { enforce: 1 });
});
afterEach(() => bench.close());

const [A, B] = ['aaa', 'bbb'];
type Words = Pick<UrlRecord, 'md5' | 'len' | 'mtime'>;

/** The CP announces, and the site, if it is asked, gives this. @returns whether it was asked */
async function announce(
  words: Words,
  content: string,
  more: { lastModified?: string; charset?: string; full?: boolean } = {},
) {
  const { full, ...head } = more;
  await bench.send(7, [url('a', words)], { set: full ? 'full' : 'partial' });
  if (bench.row(7, 'a') === undefined) return false;
  bench.fetch(7, 'a', content, head);
  return true;
}
const held = () => bench.value('SELECT md5 FROM lccurl');
const seq = () => Number(bench.value("SELECT value FROM counter WHERE name = 'seq'"));

describe('content that is not what was announced', () => {
  for (const full of [false, true])
    it(`is fetched again when it is announced again${full ? ' in a full set' : ''}, and believed when the same came twice`, async () => {
      const words = { md5: md5Of(B) };
      assert.equal(await announce(words, A, { full }), true);
      assert.equal(await announce(words, A, { full }), true);
      const before = seq();
      assert.equal(await announce(words, A, { full }), false);
      assert.equal(seq(), before);
    });

  it('is what was announced as soon as that comes', async () => {
    await announce({ md5: md5Of(B) }, A);
    assert.equal(await announce({ md5: md5Of(B) }, B), true);
    assert.equal(held(), md5Of(B));
    assert.equal(await announce({ md5: md5Of(B) }, B), false);
  });

  it('is in doubt for each announcement that is another', async () => {
    await announce({ md5: md5Of(B) }, A);
    await announce({ md5: md5Of('c') }, A);
    assert.equal(await announce({ md5: md5Of(B) }, A), true);
    assert.equal(await announce({ md5: md5Of(B) }, A), true);
    assert.equal(await announce({ md5: md5Of(B) }, A), false);
  });

  it('is in doubt as long as other content comes each time', async () => {
    for (const content of ['1', '2', '3', '4'])
      assert.equal(await announce({ md5: md5Of(B) }, content), true, content);
  });

  it('is believed no longer after what is held was announced', async () => {
    for (let i = 0; i < 2; i++) await announce({ md5: md5Of(B) }, A);
    assert.equal(await announce({ md5: md5Of(A) }, A), false);
    assert.equal(await announce({ md5: md5Of(B) }, B), true, 'the site has changed');
    assert.equal(held(), md5Of(B));
  });

  it('is in no doubt when its md5 is announced, whatever was said before', async () => {
    await announce({ md5: md5Of(B), mtime: '2026-01-01T00:00:00Z' }, A);
    assert.equal(await announce({ md5: md5Of(A), mtime: '2026-01-01T00:00:00Z' }, A), false);
    assert.equal(await announce({ mtime: '2026-01-01T00:00:00Z' }, A), false);
  });

  it('is seen by its length where no md5 is announced', async () => {
    const words = { len: '5' };
    for (const asked of [true, true, false]) assert.equal(await announce(words, A), asked);
  });

  it('is seen by the site’s own time where nothing else tells it', async () => {
    const words = { len: '3', mtime: '2026-01-02T00:00:00Z' };
    const earlier = { lastModified: 'Thu, 01 Jan 2026 00:00:00 GMT' };
    assert.equal(await announce(words, A, earlier), true);
    assert.equal(await announce(words, B, { lastModified: 'Fri, 02 Jan 2026 00:00:00 GMT' }), true);
    assert.equal(held(), md5Of(B));
    assert.equal(await announce(words, B), false);
    const changed = { len: '3', mtime: '2026-01-03T00:00:00Z' };
    for (const asked of [true, true, false]) assert.equal(await announce(changed, B, earlier), asked);
  });

  it('is asked for conditionally when nothing is said, and stays in doubt', async () => {
    await announce({ md5: md5Of(B) }, A);
    await bench.send(7, [url('a')]);
    const row = bench.row(7, 'a');
    assert.ok(row);
    assert.equal(bench.answer(row, unchanged, true), 'done');
    assert.equal(await announce({ md5: md5Of(B) }, B), true);
  });

  it('is never believed of a provider that wants it enforced', async () => {
    const words = { md5: md5Of(B) };
    for (let i = 0; i < 2; i++) await announce(words, A);
    assert.equal(await announce(words, A), false);
    bench.db.prepare('UPDATE pidb SET enforce = 1 WHERE pid = 7').run();
    assert.equal(await announce(words, B), true);
    assert.equal(await announce(words, B), false);
  });
});

describe('content that is held and comes again', () => {
  it('takes no number of the change sequence, keeps its file, and frees the new one', async () => {
    await announce({ mtime: '2026-01-01T00:00:00Z' }, A);
    const [before] = bench.all('SELECT seq, fetched_fileid AS file FROM lccurl');
    await bench.send(7, [url('a', { len: '9' })]);
    const row = bench.row(7, 'a');
    assert.ok(row);
    bench.answer(row, ok(A, { fileId: 'twin', etag: '"2"', lastModified: 'Fri, 02 Jan 2026 00:00:00 GMT' }));
    const [after] = bench.all('SELECT seq, fetched_fileid AS file, etag, mtime FROM lccurl');
    assert.deepEqual(after, { ...before, etag: '"2"', mtime: '2026-01-01T00:00:00Z' });
    assert.deepEqual(bench.all('SELECT fileid FROM freed'), [{ fileid: 'twin' }]);
    assert.deepEqual(bench.all('SELECT filesused AS files, spaceused AS space FROM pidb WHERE pid = 7'), [
      { files: 1, space: 3 },
    ]);
  });

  it('takes none when it is said to be newer, and one when the site names another encoding of it', async () => {
    await announce({ mtime: '2026-01-01T00:00:00Z' }, A, { charset: 'koi8-r' });
    const before = seq();
    await announce({ mtime: '2026-01-02T00:00:00Z' }, A, { charset: 'koi8-r' });
    assert.equal(seq(), before);
    await announce({ mtime: '2026-01-03T00:00:00Z' }, A, { charset: 'windows-1251' });
    assert.equal(seq(), before + 1);
  });

  it('is verified when it came whole once', async () => {
    await bench.send(7, [url('a')]);
    bench.fetch(7, 'a', A, { completeness: 'unverified' });
    await bench.send(7, [url('a')]);
    bench.fetch(7, 'a', A);
    assert.equal(bench.value('SELECT verified FROM lccurl'), 1);
  });
});

it('through any history: what was not announced is believed only if it came twice for the same words, and nothing is asked for ever', async () => {
  const contents = fc.constantFrom(A, B, 'cccc');
  const said = fc.record({
    md5: fc.option(contents, { nil: undefined, freq: 1 }),
    len: fc.option(contents, { nil: undefined }),
  });
  const step = fc.record({ content: contents, said, full: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 10 }),
      said,
      contents,
      async (steps, last, site) => {
        bench.db.exec('DELETE FROM lccurl; UPDATE pidb SET filesused = 0, spaceused = 0');
        /** Of each fetch: the md5 that was said, or the length, and what came. */
        const fetches: { said: string; came: string }[] = [];
        const tell = async (what: typeof last, content: string, full = false) => {
          const words = wordsOf(what);
          const key = words.md5 ?? `length ${words.len}`;
          const asked = await announce(words, content, { full });
          if (asked) {
            fetches.push({ said: key, came: md5Of(content) });
            assert.equal(held(), md5Of(content));
          } else if ((words.md5 ?? held()) !== held() || (words.len ?? lengthHeld()) !== lengthHeld())
            assert.ok(
              cameTwice(fetches, key, held()) || words.md5 === held(),
              JSON.stringify({ words, fetches }),
            );
          return asked;
        };
        for (const { content, said: what, full } of steps) await tell(what, content, full);
        if (last.md5 === undefined && last.len === undefined) return;
        const asked = [];
        for (let i = 0; i < 4; i++) asked.push(await tell(last, site));
        assert.deepEqual(asked.slice(2), [false, false], 'a site that serves the same is asked twice');
      },
    ),
    { numRuns: amount(20, 60) },
  );
});

function wordsOf({ md5, len }: { md5: string | undefined; len: string | undefined }): Words {
  return {
    ...(md5 === undefined ? undefined : { md5: md5Of(md5) }),
    ...(len === undefined ? undefined : { len: String(len.length) }),
  };
}

function lengthHeld(): string {
  return String(bench.value('SELECT len FROM lccurl'));
}

/** Whether these words have brought that content twice, one after the other. */
function cameTwice(fetches: readonly { said: string; came: string }[], said: string, came: unknown): boolean {
  const isSo = (each: (typeof fetches)[number] | undefined) => each?.said === said && each.came === came;
  return fetches.some((each, i) => isSo(each) && isSo(fetches[i + 1]));
}
