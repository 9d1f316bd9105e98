import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SPIDER_REASONS, type SpiderReason } from '../../src/wire/spider-codes.js';
import {
  BadRecord,
  formatRecordHead,
  MAX_RECORD_URL_BYTES,
  RecordReader,
  recordUrl,
  type SpiderRecord,
} from '../../src/wire/spider-record.js';

interface Whole {
  record: SpiderRecord;
  doc: Buffer;
  offset: number;
}

const PLAIN: SpiderRecord = {
  docId: 7,
  success: true,
  reason: 'ok',
  redirected: false,
  cut: false,
  http: 20,
  durationMs: 12,
  url: 'http://a.example/',
  newUrl: '',
  docBytes: 0,
};

const urls = fc
  .tuple(
    fc.constantFrom('http:', 'https:', 'x+y-z.9:', 'A:'),
    fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes).toString('latin1')),
  )
  .map(([scheme, rest]) => scheme + rest);
const wholes = fc
  .record({
    docId: fc.integer({ min: 0, max: 0xffff_ffff }),
    success: fc.boolean(),
    reason: fc.constantFrom(...(Object.keys(SPIDER_REASONS) as SpiderReason[])),
    redirected: fc.boolean(),
    cut: fc.boolean(),
    http: fc.integer({ min: 0, max: 255 }),
    durationMs: fc.integer({ min: 0, max: 0xffff_ffff }),
    url: urls,
    newUrl: fc.oneof(fc.constant(''), urls),
    doc: fc.uint8Array({ maxLength: 500 }).map(bytes => Buffer.from(bytes)),
  })
  .map(({ doc, ...rest }) => ({ record: { ...rest, docBytes: doc.length }, doc }));
const streams = fc.array(wholes, { maxLength: 8 });
const cuts = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 20 });

function bytesOf(all: readonly Pick<Whole, 'record' | 'doc'>[]): Buffer {
  return Buffer.concat(all.flatMap(({ record, doc }) => [formatRecordHead(record), doc]));
}

/** Reads a stream in pieces of these sizes, again and again. @returns what came, and how it ended */
function readIn(stream: Buffer, sizes: readonly number[], reader = new RecordReader()) {
  const found: Whole[] = [];
  let doc: Buffer[] = [];
  let raw = Buffer.alloc(0);
  try {
    for (let at = 0, n = 0; at < stream.length; n++) {
      const size = sizes[n % sizes.length] ?? 1;
      // A buffer of its own: what was read of one must not change with the next.
      const chunk = Buffer.from(stream.subarray(at, at + size));
      at += size;
      for (const part of reader.read(chunk))
        if (part.kind === 'head') {
          found.push({ record: part.record, offset: part.offset, doc: Buffer.alloc(0) });
          raw = Buffer.concat([raw, part.bytes]);
        } else if (part.kind === 'body') {
          doc.push(part.bytes);
          raw = Buffer.concat([raw, part.bytes]);
        } else {
          const last = found.at(-1);
          assert.ok(last);
          last.doc = Buffer.concat(doc);
          doc = [];
        }
    }
    reader.end();
    return { found, raw, bad: undefined };
  } catch (error) {
    assert.ok(error instanceof BadRecord, String(error));
    return { found, raw, bad: error };
  }
}

test('a record has the bytes of the design, in network order', () => {
  const head = formatRecordHead({
    docId: 0x01020304,
    success: true,
    reason: 'idle-timeout',
    redirected: true,
    cut: false,
    http: 31,
    durationMs: 0x05060708,
    url: 'http://x/',
    newUrl: 'ftp:y',
    docBytes: 0x0a0b0c0d,
  });
  assert.equal(
    head.toString('hex'),
    `01020304 01 97 1f 00 05060708 0009 0005 0a0b0c0d ${Buffer.from('http://x/ftp:y').toString('hex')}`.replaceAll(
      ' ',
      '',
    ),
  );
});

test('what is written is read again, however the stream is cut into pieces', () => {
  fc.assert(
    fc.property(streams, cuts, (all, sizes) => {
      const stream = bytesOf(all);
      const { found, raw, bad } = readIn(stream, sizes);
      assert.equal(bad, undefined);
      assert.deepEqual(
        found.map(({ record, doc }) => ({ record, doc })),
        all,
      );
      assert.ok(raw.equals(stream), 'heads and documents are the stream');
      let offset = 0;
      for (const whole of found) {
        assert.equal(whole.offset, offset);
        offset += formatRecordHead(whole.record).length + whole.doc.length;
      }
    }),
    { numRuns: 300 },
  );
});

test('a stream that was changed or cut ends at the same byte for every reader, after the same records', () => {
  fc.assert(
    fc.property(
      streams,
      cuts,
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      fc.nat(),
      (all, sizes, at, by, cut) => {
        const stream = bytesOf(all);
        fc.pre(stream.length > 0);
        const index = at % stream.length;
        stream[index] = (stream[index] ?? 0) ^ by;
        const left = stream.subarray(0, stream.length - (cut % Math.min(stream.length, 40)));
        const once = readIn(left, [left.length]);
        const pieces = readIn(left, sizes);
        assert.deepEqual(pieces.found, once.found);
        assert.equal(pieces.bad?.message, once.bad?.message);
        if (once.bad !== undefined) {
          assert.ok(once.bad.offset <= left.length);
          assert.ok(once.bad.code === 'data.malformed' || once.bad.offset === left.length);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('the first bad byte is named', () => {
  const good = formatRecordHead({ ...PLAIN, newUrl: 'http:b' });
  const changed = (at: number, value: number) => {
    const head = Buffer.from(good);
    head[at] = value;
    return Buffer.concat([good, head]);
  };
  const cases: [Buffer, number, RegExp][] = [
    [changed(4, 2), 4, /success is 2/],
    [changed(5, 1), 5, /reason 1 is reserved/],
    [changed(7, 9), 7, /padding is 9/],
    [changed(13, 0), 12, /no url/],
    [changed(16, 1), 16, /document of 16777216 bytes: the limit is 1000/],
    [changed(20, 0x20), 20, /the url begins with no scheme/],
    [changed(24, 0x2f), 24, /the url begins with no scheme/],
    [changed(41, 0), 41, /the new url begins with no scheme/],
  ];
  for (const [stream, at, why] of cases) {
    const { found, bad } = readIn(stream, [7], new RecordReader(1000));
    assert.equal(found.length, 1);
    assert.equal(bad?.code, 'data.malformed');
    assert.equal(bad?.offset, good.length + at);
    assert.match(bad?.message ?? '', why);
  }
  const { bad } = readIn(good.subarray(0, good.length - 1), [3]);
  assert.equal(bad?.code, 'data.cut');
  assert.equal(bad?.offset, good.length - 1);
});

test('urls of 65535 bytes come in one byte at a time, and a longer one is not written', () => {
  const url = `http:${'é'.repeat(MAX_RECORD_URL_BYTES - 5)}`;
  const record = { ...PLAIN, url, newUrl: url };
  const { found, bad } = readIn(formatRecordHead(record), [1]);
  assert.equal(bad, undefined);
  assert.deepEqual(found[0]?.record, record);
  assert.throws(() => formatRecordHead({ ...PLAIN, url: `${url}x` }), RangeError);
});

test('durations saturate, and what has no place in a record is refused', () => {
  const durationOf = (durationMs: number) => formatRecordHead({ ...PLAIN, durationMs }).readUInt32BE(8);
  assert.deepEqual([1.4, 2 ** 32 - 1, 2 ** 40].map(durationOf), [1, 2 ** 32 - 1, 2 ** 32 - 1]);
  for (const wrong of [
    { docId: 2 ** 32 },
    { docId: -1 },
    { docBytes: 0.5 },
    { http: 256 },
    { url: '' },
    { url: '/path' },
    { newUrl: 'none' },
    { url: 'http://π/' },
  ])
    assert.throws(() => formatRecordHead({ ...PLAIN, ...wrong }), RangeError, JSON.stringify(wrong));
});

test('whatever a line had for a url, its record can be written', () => {
  assert.equal(recordUrl('ftp://x/'), 'ftp://x/');
  assert.equal(recordUrl('nonsense'), 'invalid:nonsense');
  assert.equal(recordUrl(''), 'invalid:');
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array().map(bytes => Buffer.from(bytes).toString('latin1')),
        fc.constantFrom('a'.repeat(70_000), `${'a'.repeat(70_000)}:`, `http:${'a'.repeat(70_000)}`),
      ),
      text => void formatRecordHead({ ...PLAIN, url: recordUrl(text) }),
    ),
  );
});
