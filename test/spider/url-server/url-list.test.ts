/** Lists of urls, their journal, and the report of what failed. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import type { LccError } from '../../../src/lib/errors.js';
import { Journal, type FailedLine, NumberRanges } from '../../../src/spider/url-server/journal.js';
import { readListLine, digestOfLines, markOf, UrlList } from '../../../src/spider/url-server/url-list.js';
import { SpiderUrl, type UrlTerms } from '../../../src/spider/url-server/spider-url.js';
import { Report } from '../../../src/spider/url-server/report.js';
import { ManualClock } from '../../support/manual-clock.js';
import { amount } from '../../support/long.js';

const dir = mkdtempSync(join(tmpdir(), 'url-list-'));
after(() => rmSync(dir, { recursive: true }));

function unwanted(error: unknown): never {
  throw error;
}

let files = 0;
/** A new list, and a journal of it for each call of `open`. */
function newList(text: string) {
  const file = join(dir, `list${++files}`);
  writeFileSync(file, text);
  const journal = `${file}.done`;
  return {
    file,
    journal,
    open: (failed: FailedLine[] = []) =>
      new Journal(
        {
          path: journal,
          listMark: markOf(file),
          digestOf: lines => digestOfLines(file, lines),
          syncLines: 10,
          syncMs: 1000,
          clock: new ManualClock(),
          fail: unwanted,
        },
        line => void failed.push(line),
      ),
  };
}

async function* pieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

/** All of a list, and the report of what was refused. */
async function readAll(
  text: string,
  size: number,
  journal?: Journal,
): Promise<[UrlTerms[], string, UrlList]> {
  let reported = '';
  const report = new Report(bytes => Promise.resolve(void (reported += bytes.toString())), 100, unwanted);
  const list = new UrlList(pieces(text, size), journal, report, 0);
  const read: UrlTerms[] = [];
  for await (const batch of list.batches()) read.push(...batch);
  await report.end();
  assert.equal(list.failed, reported.split('\n').length - 1);
  return [read, reported, list];
}

describe('a set of numbers', () => {
  it('has those that were added, in as few ranges as they make', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(60)), numbers => {
        const ranges = new NumberRanges();
        for (const number of numbers) ranges.add(number);
        const set = new Set(numbers);
        for (let number = -1; number < 63; number++) assert.equal(ranges.has(number), set.has(number));
        assert.equal(ranges.ranges, [...set].filter(number => !set.has(number - 1)).length);
      }),
      { numRuns: amount(200, 1000) },
    );
  });
});

describe('a line of a list', () => {
  it('is a url, or a number, a tab and a url', () => {
    const [url, hostName] = ['http://www.example.org/a?b#c', 'www.example.org'];
    assert.deepEqual(readListLine(url, 7), { number: 7, docId: 7, url, hostName });
    assert.deepEqual(readListLine(`4294967295\t${url}`, 7), {
      number: 7,
      docId: 4_294_967_295,
      url,
      hostName,
    });
    assert.deepEqual(readListLine(`  ${url} `, 7), { number: 7, docId: 7, url, hostName });
  });

  it('is percent-encoded, and its host in ASCII, where it is not yet', () => {
    const line = Buffer.from('http://B\u00fccher.example/\u00fc b').toString('latin1');
    assert.deepEqual(readListLine(line, 1), {
      number: 1,
      docId: 1,
      url: 'http://xn--bcher-kva.example/%C3%BC%20b',
      hostName: 'xn--bcher-kva.example',
    });
    assert.deepEqual(readListLine('HTTPS://[2001:DB8::1]:8443/', 1), {
      number: 1,
      docId: 1,
      url: 'HTTPS://[2001:DB8::1]:8443/',
      hostName: '2001:db8::1',
    });
  });

  it('has bytes that are not UTF-8 percent-encoded, each as it is', () => {
    for (const [bytes, url] of [
      ['http://a.example/x/\xe4\xf6\xfc b', 'http://a.example/x/%E4%F6%FC%20b'],
      ['http://a.example/\xe4?q=\xc3\xbc', 'http://a.example/%E4?q=%C3%BC'],
      ['5\thttp://b\xc3\xbccher.example/\xff', 'http://xn--bcher-kva.example/%FF'],
      ['http://a.example/\xa0', 'http://a.example/%A0'],
    ] as const) {
      const read = readListLine(bytes, 1);
      assert.equal('why' in read ? read.why : read.url, url);
    }
    assert.ok('why' in readListLine('http://\xe4.example/', 1));
  });

  it('says which line it was when it is too long', () => {
    assert.deepEqual(readListLine(undefined, 3), {
      docId: '3',
      url: '',
      why: 'line 3 has more than 65535 bytes',
    });
  });

  it('is refused with the reason otherwise', () => {
    for (const [line, why] of [
      ['x\thttp://h/', /^what stands before the tab is no number of a document$/],
      ['-1\thttp://h/', /no number of a document/],
      ['http://h/a\thttp://h/b', /no number of a document/],
      ['1\thttp://h/a\tb', /^a tab inside of the url$/],
      ['www.example.org', /not a url/],
      ['', /not a url/],
      ['ftp://www.example.org/', /neither http nor https/],
      ['4294967296\thttp://h/', /number of a document/],
      [`http://h/${'x'.repeat(65_535)}`, /more than 65535 bytes/],
      ['http://a!b/', /host is no name/],
      ['x\0y', /not a url/],
    ] as const) {
      const refused = readListLine(line, 3);
      assert.ok('why' in refused, line);
      assert.match(refused.why, why);
      assert.doesNotMatch(refused.url, /[\0-\x1f]/);
    }
  });
});

describe('a list', () => {
  it('is read in any pieces, numbered by its lines, empty ones without a url', async () => {
    const text = 'http://a/\r\n\n77\thttp://b/\nnonsense\nhttp://c/\u00e4';
    for (const size of [1, 3, 1000]) {
      const [read, reported] = await readAll(text, size);
      assert.deepEqual(
        read.map(({ number, docId, url }) => [number, docId, url]),
        [
          [1, 1, 'http://a/'],
          [3, 77, 'http://b/'],
          [5, 5, 'http://c/%C3%A4'],
        ],
      );
      assert.equal(reported, '4\tnonsense\tnot a url\n');
    }
  });

  it('goes on where it was, and reports again what failed', async () => {
    const text = 'http://a/\nhttp://b/\nhttp://c/\nnonsense \u00e4\n';
    const { open } = newList(text);
    const first = open();
    const list = new UrlList(
      pieces(text, 1000),
      first,
      new Report(() => Promise.resolve(), 100, unwanted),
      0,
    );
    const urls: SpiderUrl[] = [];
    for await (const batch of list.batches()) urls.push(...batch.map(terms => new SpiderUrl(terms)));
    const [a, b] = urls;
    assert.ok(a && b);
    list.ended(a, undefined);
    list.ended(b, 'silent spiders');
    await list.close();
    const failed: FailedLine[] = [];
    const again = open(failed);
    const [read, , left] = await readAll(text, 1000, again);
    assert.deepEqual(
      read.map(({ url }) => url),
      ['http://c/'],
    );
    assert.deepEqual(
      [list.endedBefore, list.isAllOver, left.endedBefore, left.isAllOver],
      [0, false, 3, false],
    );
    assert.deepEqual(failed, [
      { number: 4, docId: '4', url: 'nonsense \u00e4', why: 'not a url' },
      { number: 2, docId: '2', url: 'http://b/', why: 'silent spiders' },
    ]);
    again.close();
  });
});

describe('a list that has changed', () => {
  /** Reads all of the list as it is, and ends all but those. @returns the urls that were not over */
  const life = async (
    { file, open }: ReturnType<typeof newList>,
    left: readonly string[] = [],
  ): Promise<string[]> => {
    const journal = open();
    const report = new Report(() => Promise.resolve(), 100, unwanted);
    const list = new UrlList(pieces(readFileSync(file, 'utf8'), 7), journal, report, 0);
    const urls: string[] = [];
    for await (const batch of list.batches())
      for (const terms of batch) {
        urls.push(terms.url);
        if (!left.includes(terms.url)) list.ended(new SpiderUrl(terms), undefined);
      }
    await list.close();
    return urls;
  };

  it('is refused where what was read is another; more at its end is read', async () => {
    const list = newList('http://h/1\nhttp://h/2\nhttp://h/3\n');
    assert.equal((await life(list)).length, 3);
    writeFileSync(list.file, 'http://h/1\nhttp://h/2\nhttp://h/3\nhttp://h/4\n');
    assert.deepEqual(await life(list), ['http://h/4']);
    for (const other of [
      'http://h/1\nhttp://h/new\nhttp://h/2\nhttp://h/3\nhttp://h/4\n',
      'http://h/1\nhttp://h/2\nhttp://h/3\nhttp://h/X\n',
      'http://h/1\nhttp://h/2\n',
      'http://h/1',
    ]) {
      writeFileSync(list.file, other);
      await assert.rejects(life(list), /the first 4 lines of the list were others .*; remove the journal/);
    }
    writeFileSync(list.file, 'http://h/0\n');
    await assert.rejects(life(list), /the journal of another list/);
  });

  it('has a last line without its end again when that has grown, once', async () => {
    for (const left of [[], ['http://h/23']]) {
      const list = newList('http://h/1\nhttp://h/2');
      assert.deepEqual(await life(list), ['http://h/1', 'http://h/2']);
      assert.deepEqual(await life(list), []);
      writeFileSync(list.file, 'http://h/1\nhttp://h/23');
      assert.deepEqual(await life(list), ['http://h/23']);
      writeFileSync(list.file, 'http://h/1\nhttp://h/23\nhttp://h/4\n');
      assert.deepEqual(await life(list, left), ['http://h/4']);
      assert.deepEqual(await life(list), []);
    }
    const grown = newList('http://h/1\nhttp://h/2');
    await life(grown);
    writeFileSync(grown.file, 'http://h/1\nhttp://h/23\nhttp://h/4\n');
    assert.deepEqual(await life(grown, ['http://h/23']), ['http://h/23', 'http://h/4']);
    assert.deepEqual(await life(grown), ['http://h/23']);
    assert.deepEqual(await life(grown), []);
    // It had its end all the time.
    const same = newList('http://h/1\nhttp://h/2');
    await life(same);
    writeFileSync(same.file, 'http://h/1\nhttp://h/2\n');
    assert.deepEqual(await life(same), []);
  });
});

describe('a file that is no list', () => {
  it('is refused with what to do', () =>
    assert.throws(
      () => markOf(join(dir, 'nowhere')),
      (error: LccError) =>
        error.code === 'input.missing' && /nowhere: there is no such file.*; check/.test(error.message),
    ));
});

describe('the journal of a list', () => {
  it('takes next to no memory for a long list done nearly in order', () => {
    const { journal, open } = newList('http://a/\n');
    const made = open();
    made.close();
    const lines = Array.from({ length: 100_000 }, (_, i) => `${(i ^ 7) + 1}\n`);
    appendFileSync(journal, lines.join(''));
    const read = open();
    assert.equal(read.ranges, 1);
    assert.ok(read.has(1) && read.has(100_000) && !read.has(100_001) && !read.has(0));
    read.close();
  });

  it('loses a line that a kill has cut, and nothing else', () => {
    const { journal, open } = newList('http://a/\n');
    open().close();
    appendFileSync(journal, '1\n2\n345');
    const read = open();
    assert.deepEqual([read.has(1), read.has(2), read.has(3), read.has(345)], [true, true, false, false]);
    read.done(3);
    read.close();
    assert.match(readFileSync(journal, 'utf8'), /\n1\n2\n3\n$/);
  });

  it('is begun again when a kill has cut its first line', () => {
    const { journal, open } = newList('http://a/\n');
    writeFileSync(journal, 'lccurld 1 0123');
    open().close();
    assert.match(readFileSync(journal, 'utf8'), /^lccurld 1 [0-9a-f]{32}\n$/);
  });

  it('of another list, of something else or with nonsense in it is refused with what to do', () => {
    const { file, journal, open } = newList('http://a/\nhttp://b/\n');
    open().close();
    const good = readFileSync(journal, 'utf8');
    const refused = (code: string, words: RegExp) =>
      assert.throws(open, (error: LccError) => error.code === code && words.test(error.message));
    appendFileSync(file, 'http://c/\n');
    open().close();
    for (const nonsense of ['x\n', '1\t2\n', '-1\n', '\n', `${'9'.repeat(90_000)}\n`]) {
      writeFileSync(journal, good + nonsense);
      refused('data.malformed', /:2: makes no sense; remove/);
    }
    writeFileSync(journal, 'http://x/\n');
    refused('data.malformed', /not a journal of lccurld; move it away/);
    writeFileSync(journal, good);
    writeFileSync(file, 'http://other/\n');
    refused('data.refused', /another list: remove it/);
  });

  it('is one process\u2019s at a time', () => {
    const { open } = newList('http://a/\n');
    const held = open();
    assert.throws(
      open,
      (error: LccError) => error.code === 'try.later' && /wait for its end/.test(error.message),
    );
    held.close();
    open().close();
  });
});

describe('a report', () => {
  it('has its reader\u2019s pace: what waits is bounded by who adds', async () => {
    let written = '';
    let taken: () => void = () => undefined;
    const report = new Report(
      bytes => {
        written += bytes.toString();
        return new Promise(resolve => (taken = resolve));
      },
      10,
      unwanted,
    );
    report.add('1\n');
    await report.room();
    for (let n = 2; n < 12; n++) report.add(`${n}\n`);
    let hasRoom = false;
    const room = report.room().then(() => (hasRoom = true));
    assert.equal(written, '1\n');
    taken();
    await new Promise(resolve => setImmediate(resolve));
    assert.equal(written, '1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n');
    assert.equal(hasRoom, false);
    taken();
    await room;
  });

  it('is given up, once, when nobody reads it', async () => {
    const failures: unknown[] = [];
    const report = new Report(
      () => Promise.reject(new Error('EPIPE')),
      10,
      error => void failures.push(error),
    );
    for (let n = 0; n < 100; n++) {
      report.add('a line that nobody reads\n');
      await report.room();
    }
    await report.end();
    assert.equal(failures.length, 1);
  });
});
