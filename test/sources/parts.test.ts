import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { DistinctLines } from '../../src/sources/distinct.js';
import { lastmodOf } from '../../src/sources/lastmod.js';
import { isCommon, Majority, makingOf } from '../../src/sources/times-of-making.js';
import { pageUrl } from '../../src/sources/reading.js';
import { readSitemapLines } from '../../src/robots/robots-txt.js';
import { base } from './support.js';

test('times: W3C date-times, also with a blank, mere dates, RFC 822; nothing else', () => {
  const times: [string, string | undefined][] = [
    ['2026-11-20T10:13:01Z', '2026-11-20T10:13:01Z'],
    ['2026-11-20T10:13:01.123+00:00', '2026-11-20T10:13:01Z'],
    ['2026-11-20T10:13+01:00', '2026-11-20T09:13:00Z'],
    ['2026-11-20T00:13:01+0100', '2026-11-19T23:13:01Z'],
    ['2026-11-20 10:13:01', '2026-11-20T10:13:01Z'],
    ['2026-11-20 10:13:01 +02:00', '2026-11-20T08:13:01Z'],
    ['2026-11-20', '2026-11-20T00:00:00Z'],
    ['2026-02', '2026-02-01T00:00:00Z'],
    ['2026', '2026-01-01T00:00:00Z'],
    ['Fri, 20 Nov 2026 10:13:01 GMT', '2026-11-20T10:13:01Z'],
    ['20 Nov 26 10:13 +0100', '2026-11-20T09:13:00Z'],
    ['2024-02-29', '2024-02-29T00:00:00Z'],
    ['2026-02-29', undefined],
    ['2026-04-31T10:00:00Z', undefined],
    ['2026-13-01', undefined],
    ['2026-11-20T25:00:00Z', undefined],
    ['2026-11-20Z', '2026-11-20T00:00:00Z'],
    ['2026-11-20+01:00', '2026-11-19T23:00:00Z'],
    ['2026-11-20-05:00', '2026-11-20T05:00:00Z'],
    ['2026-11-20T24:00:00Z', '2026-11-21T00:00:00Z'],
    ['2026-12-31T24:00:00+02:00', '2026-12-31T22:00:00Z'],
    ['2026-11-20T24:00:01Z', undefined],
    ['2026-12-31T23:59:60Z', '2026-12-31T23:59:59Z'],
    ['0001-01-01T00:00:00', undefined],
    ['0001-01-01', undefined],
    ['20.11.2026', undefined],
    ['11/20/2026', undefined],
    ['1763633581', undefined],
    ['', undefined],
    ['now', undefined],
  ];
  for (const [text, printed] of times) assert.equal(lastmodOf(text), printed, text);
});

test('locations: parsed as browsers do, without fragment; what cannot be fetched is named', () => {
  const most = { most: 60, text: '60 bytes' };
  const urls: [string, string][] = [
    ['http://e/a', 'http://e/a'],
    ['  http://E:80/a/../b\n', 'http://e/b'],
    ['HTTPS://bücher.example/ä?ö#x', 'https://xn--bcher-kva.example/%C3%A4?%C3%B6'],
    ['http://e/a#b', 'http://e/a'],
    ['http://e', 'http://e/'],
    ['http://e/a@b', 'http://e/a@b'],
  ];
  for (const [text, curl] of urls) assert.deepEqual(pageUrl(text, most), { curl });
  const problems: [string, RegExp][] = [
    ['', /is empty/],
    ['/a', /no http or https url/],
    ['ftp://e/', /no http or https/],
    ['javascript:1', /no http or https/],
    ['http://u:p@e/', /has a login/],
    ['http://u@e/', /has a login/],
    [`http://e/${'a'.repeat(60)}`, /longer than 60 bytes/],
    ['http://e/\ufffd', /no characters/],
    ['http://[', /no http or https/],
  ];
  for (const [text, problem] of problems) assert.match(JSON.stringify(pageUrl(text, most)), problem, text);
});

test('of lines with one key the one of the highest rank is left, in the order of all, however many the table may hold', () => {
  let n = 0;
  const entry = fc.record({ key: fc.nat(40).map(String), rank: fc.nat(3) });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 120 }), fc.constantFrom(2 ** 3, 2 ** 12), (entries, places) => {
      const keyOf = (line: string) => ({ key: line.split(' ')[0] ?? '', rank: Number(line.split(' ')[1]) });
      const lines = new DistinctLines(join(base, `d${n++}`), keyOf, places);
      const all = entries.map((one, i) => `${one.key} ${one.rank} ${i}`);
      for (const line of all) lines.add(`${line}\n`, keyOf(line));
      const best = new Map<string, string>();
      for (const line of all) {
        const held = best.get(keyOf(line).key);
        if (held === undefined || keyOf(line).rank > keyOf(held).rank) best.set(keyOf(line).key, line);
      }
      const chunks = lines.chunks();
      let text = '';
      let next = chunks.next();
      for (; next.done !== true; next = chunks.next()) text += next.value.toString();
      lines.close();
      assert.deepEqual(
        text.split('\n').slice(0, -1),
        all.filter(line => best.get(keyOf(line).key) === line),
      );
      assert.equal(next.value, best.size);
    }),
  );
});

test('one time for nearly all, moved since the last reading, is that of the making, and stays so', () => {
  const vote = (times: readonly string[]) => {
    const majority = new Majority();
    for (const time of times) majority.add(time);
    return majority.candidate;
  };
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 30 }), times => {
      for (const time of ['a', 'b', 'c'])
        if (times.filter(one => one === time).length * 2 > times.length) assert.equal(vote(times), time);
    }),
  );
  assert.deepEqual(
    [isCommon(19, 19), isCommon(20, 20), isCommon(18, 20), isCommon(17, 20)],
    [false, true, true, false],
  );
  const first = makingOf('t1', undefined);
  assert.equal(first.isMaking, false);
  assert.equal(makingOf('t1', first).isMaking, false);
  const second = makingOf('t2', first);
  assert.equal(second.isMaking, true);
  assert.equal(makingOf('t2', second).isMaking, true);
  const honest = makingOf('', second);
  assert.equal(honest.isMaking, false);
  assert.equal(makingOf('t3', honest).isMaking, false);
});

test('the lines of robots.txt that name sitemaps, in whatever group', async () => {
  const robots =
    'User-agent: other\nDisallow: /\nSitemap: http://e/1.xml\r\nsitemap:http://f/2.xml # two\rSITEMAP : http://e/#3\nSitemap:\n#Sitemap: http://e/no\n';
  async function* stream(): AsyncGenerator<Uint8Array, void, undefined> {
    yield Buffer.from(`\ufeff${robots}`);
  }
  const named = ['http://e/1.xml', 'http://f/2.xml', 'http://e/#3', ''];
  assert.deepEqual(await readSitemapLines(stream()), { named, isWhole: true });
  // Of one that is larger than is read, or whose last line has no end where nothing else says that it is whole, some are missing.
  async function* of(...pieces: (string | Buffer)[]): AsyncGenerator<Uint8Array, void, undefined> {
    for (const piece of pieces) yield Buffer.from(piece);
  }
  const one = 'Sitemap: http://e/1\n';
  const large = await readSitemapLines(of(one, Buffer.alloc(600_000, '#'), `\n${one}`));
  assert.deepEqual(large, { named: ['http://e/1'], isWhole: false });
  const half = `${one}Sitemap: http://e/2`;
  assert.deepEqual(await readSitemapLines(of(half), true), { named: ['http://e/1'], isWhole: false });
  assert.deepEqual(await readSitemapLines(of(half)), { named: ['http://e/1', 'http://e/2'], isWhole: true });
  assert.deepEqual(await readSitemapLines(of(one), true), { named: ['http://e/1'], isWhole: true });
});
