import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { NS, page, read, set, whole } from './documents.js';
import { LIMITS } from './support.js';

test('packed once or twice, whatever its name: unpacked; three times, cut or damaged: failed', async () => {
  const xml = Buffer.from(set(page(1)));
  const once = gzipSync(xml);
  const twice = gzipSync(once);
  assert.deepEqual(await read(once), whole(['http://e/1']));
  assert.deepEqual(await read(twice), whole(['http://e/1']));
  assert.deepEqual(await read([...twice].map(byte => Uint8Array.of(byte))), whole(['http://e/1']));
  assert.match((await read(gzipSync(twice))).failure ?? '', /packed more than twice/);
  assert.match((await read(once.subarray(0, -3))).failure ?? '', /^data\.cut: it is cut off \(gzip\)/);
  const damaged = Buffer.from(once);
  damaged[20]! ^= 0xff;
  assert.match((await read(damaged)).failure ?? '', /^data\.malformed: its gzip is damaged/);
  assert.match(
    (await read(`<urlset ${NS} ${NS}/>`)).failure ?? '',
    /it is no XML: duplicate attribute: xmlns/,
  );
});

test('members of gzip one after the other are one document; what follows the last is passed over, but not in a text', async () => {
  const xml = set(page(1) + page(2));
  const named = Buffer.from(gzipSync(xml));
  named[3] = 8 + 16 + 4 + 2;
  const header = Buffer.concat([named.subarray(0, 10), Buffer.from('\x02\0abname\0comment\0xx', 'latin1')]);
  const all: Uint8Array[] = [
    Buffer.concat([gzipSync(xml.slice(0, 90)), gzipSync(''), gzipSync(xml.slice(90))]),
    Buffer.concat([gzipSync(xml), Buffer.alloc(1000)]),
    Buffer.concat([gzipSync(xml), Buffer.from('\n<!-- cache -->')]),
    Buffer.concat([gzipSync(Buffer.concat([gzipSync(xml), Buffer.from('x')])), Buffer.from('y')]),
    Buffer.concat([header, named.subarray(10)]),
  ];
  for (const [n, bytes] of all.entries())
    for (const pieces of [bytes, [...bytes].map(byte => Uint8Array.of(byte))])
      assert.deepEqual(await read(pieces), whole(['http://e/1', 'http://e/2']), String(n));
  const failed = async (...pieces: Uint8Array[]) => (await read(Buffer.concat(pieces))).failure ?? '';
  // What begins as a member is one, and may not be damaged or cut.
  assert.match(await failed(gzipSync(xml), gzipSync('x').subarray(0, 12)), /^data\.cut/);
  assert.match(
    await failed(gzipSync(xml), Buffer.from('\x1f\x8bjunk and more', 'latin1')),
    /^data\.malformed/,
  );
  for (const at of [-1, -5]) {
    const altered = Buffer.from(gzipSync(xml));
    altered[altered.length + at]! ^= 1;
    assert.match(await failed(altered), /its gzip is damaged: incorrect (?:length|data) check/);
  }
  const text = await read(Buffer.concat([gzipSync('http://e/1\n'), Buffer.from('\x1e\x8bhttp', 'latin1')]));
  assert.deepEqual([text.locations, text.left.length], [['http://e/1'], 1]);
  const padded = await read(Buffer.concat([gzipSync('http://e/1\n'), Buffer.alloc(9)]));
  assert.deepEqual(padded, whole(['http://e/1']));
});

test('bombs end at their limit, named, with little of them in memory', async () => {
  const bytes = { most: 1024 * 1024, text: '1 MB' };
  const before = process.memoryUsage().rss;
  const bomb = gzipSync(gzipSync(Buffer.alloc(200 * 1024 * 1024, ' ')));
  assert.match((await read(bomb, {}, { ...LIMITS, documentBytes: bytes })).failure ?? '', /larger than 1 MB/);
  const tokenBytes = { most: 64 * 1024, text: '64 KB' };
  const piece = Buffer.alloc(64 * 1024, 'a');
  const endless = (start: string) => [Buffer.from(start), ...Array.from({ length: 100 }, () => piece)];
  for (const start of [
    '<urlset><url><loc>',
    '<urlset><!-- ',
    '<urlset><a b="',
    '<urlset><![CDATA[',
    '<!DOCTYPE ',
    'http://e/',
    '<',
    '<urlset><url><loc><![CDATA[',
  ])
    assert.match(
      (await read(endless(start), {}, { ...LIMITS, tokenBytes })).failure ?? 'none',
      /more than 64 KB|no XML/,
      start,
    );
  const feedBytes = { most: 1024, text: '1 KB' };
  assert.match(
    (await read(endless('<rss>'), {}, { ...LIMITS, feedBytes })).failure ?? '',
    /a feed of more than 1 KB/,
  );
  assert.ok(process.memoryUsage().rss - before < 300 * 1024 * 1024);
});
