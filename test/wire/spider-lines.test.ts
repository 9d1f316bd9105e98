import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  formatDone,
  formatErr,
  formatGet,
  formatUrl,
  formatWorking,
  hostNameOf,
  MAX_CREDIT,
  MAX_DOC_ID,
  MAX_SERVER_LINE_BYTES,
  MAX_SPIDER_LINE_BYTES,
  MAX_TRANS_ID_BYTES,
  parseServerLine,
  parseSpiderLine,
  ServerLineReader,
  SpiderLineReader,
  type ServerLine,
  type UrlLine,
} from '../../src/wire/spider-lines.js';
import { amount } from '../support/long.js';

/** Printable, without a blank. */
const word = (maxLength: number) =>
  fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map(code => String.fromCharCode(code)),
    minLength: 1,
    maxLength,
  });
const transId = word(MAX_TRANS_ID_BYTES).filter(text => text !== 'ERR');
const urlLine: fc.Arbitrary<UrlLine> = fc.record({
  transId,
  docId: fc.integer({ min: 0, max: MAX_DOC_ID }),
  hostIp: fc.oneof(
    fc.ipV4().filter(ip => ip !== '0.0.0.0'),
    fc.ipV6(),
    fc.constant(undefined),
  ),
  hostName: fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6()),
  url: fc.webUrl({ withQueryParameters: true }).filter(url => /^[\x21-\x7e]+$/.test(url)),
});

/** A line in pieces of any size, with either end. */
function* piecesOf(text: string, size: number): Generator<Buffer> {
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function readAll<T>(reader: { read(bytes: Buffer): Iterable<T> }, text: string, size: number): T[] {
  return [...piecesOf(text, size)].flatMap(piece => [...reader.read(piece)]);
}

describe('lines of a spider', () => {
  it('are read as they were written, however they are cut, with LF or CRLF', () => {
    const line = fc.oneof(
      fc
        .integer({ min: 1, max: MAX_CREDIT })
        .map(count => ({ line: { kind: 'get', count }, text: formatGet(count) })),
      transId.map(id => ({ line: { kind: 'working', transId: id }, text: formatWorking(id) })),
      transId.map(id => ({ line: { kind: 'done', transId: id }, text: formatDone(id) })),
      fc
        .string({ unit: 'grapheme-ascii' })
        .map(text => ({ line: { kind: 'err', text }, text: formatErr(text) })),
    );
    fc.assert(
      fc.property(fc.array(line), fc.integer({ min: 1, max: 30 }), fc.boolean(), (lines, size, hasCr) => {
        const text = lines.map(each => (hasCr ? each.text.replace('\n', '\r\n') : each.text)).join('');
        assert.deepEqual(
          readAll(new SpiderLineReader(), text, size),
          lines.map(each => each.line),
        );
      }),
    );
  });

  it('ask for 1 to 65535 urls', () => {
    for (const [text, count] of [
      ['1', 1],
      ['65535', 65_535],
      ['0007', 7],
    ] as const)
      assert.deepEqual(parseSpiderLine(`GET ${text}`), { kind: 'get', count });
    for (const text of [
      '',
      '0',
      '-1',
      '65536',
      '1.0',
      '1e3',
      ' 1',
      '1 ',
      '1 2',
      'x',
      '0x10',
      '٣',
      '99999999999999',
    ])
      assert.equal(parseSpiderLine(`GET ${text}`).kind, 'bad', text);
  });

  it('are bad, and say why in printable words, when they are anything else', () => {
    for (const [line, why] of [
      ['', /empty/],
      ['get 1', /write GET, WORKING, DONE or ERR/],
      ['DONE', /write DONE and a transaction/],
      ['DONE a b', /write DONE/],
      ['WORKING ', /write WORKING/],
      ['DONE a\0b', /write DONE/],
      [`DONE ${'x'.repeat(65)}`, /write DONE/],
      ['H\xc4LLO\x07', /^H\?LLO\?:/],
      [undefined, /more than 8192 bytes/],
    ] as const) {
      const parsed = parseSpiderLine(line);
      assert.equal(parsed.kind, 'bad', line);
      assert.match((parsed as { why: string }).why, why);
    }
  });

  it('have 8 KiB at most; what is longer is one bad line', () => {
    const err = (bytes: number) => `ERR ${'x'.repeat(bytes - 4)}`;
    const text = `${err(MAX_SPIDER_LINE_BYTES)}\n${err(MAX_SPIDER_LINE_BYTES + 1)}\nGET 1\n`;
    for (const size of [1, 1000, text.length])
      assert.deepEqual(
        readAll(new SpiderLineReader(), text, size).map(({ kind }) => kind),
        ['err', 'bad', 'get'],
      );
  });
});

describe('lines of a URL server', () => {
  it('are read as they were written, however they are cut, with LF or CRLF', () => {
    fc.assert(
      fc.property(fc.array(urlLine), fc.integer({ min: 1, max: 50 }), fc.boolean(), (lines, size, hasCr) => {
        const text = lines
          .map(line => (hasCr ? formatUrl(line).replace('\n', '\r\n') : formatUrl(line)))
          .join('');
        assert.deepEqual(
          readAll(new ServerLineReader(), text, size),
          lines.map(line => ({ kind: 'url', ...line })),
        );
      }),
    );
  });

  it('leave the address to the spider with - and 0.0.0.0', () => {
    for (const ip of ['-', '0.0.0.0'])
      assert.deepEqual(parseServerLine(`t1 17 ${ip} www.example.org http://www.example.org/`), {
        kind: 'url',
        transId: 't1',
        docId: 17,
        hostIp: undefined,
        hostName: 'www.example.org',
        url: 'http://www.example.org/',
      });
  });

  it('may have a path for a url, of the host by http', () => {
    const urlOf = (host: string) => (parseServerLine(`t 1 - ${host} /a?b`) as { url: string }).url;
    assert.equal(urlOf('www.example.org'), 'http://www.example.org/a?b');
    assert.equal(urlOf('192.0.2.7'), 'http://192.0.2.7/a?b');
    assert.equal(urlOf('2001:db8::7'), 'http://[2001:db8::7]/a?b');
  });

  it('carry urls longer than a record takes, up to 70000 bytes in all', () => {
    const line = (length: number) => `t 1 - h ${'x'.repeat(length - 8)}`;
    const kinds = readAll(
      new ServerLineReader(),
      `${line(MAX_SERVER_LINE_BYTES)}\n${line(MAX_SERVER_LINE_BYTES + 1)}\n`,
      999,
    ).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['url', 'bad']);
  });

  it('are bad otherwise, with what could be read of them', () => {
    const url = 'http://h/';
    const cases: [line: string | undefined, known: Partial<ServerLine>][] = [
      [undefined, { url: '' }],
      ['', { url: '' }],
      [' 1 - h http://h/', { url: '' }],
      ['t\x7f 1 - h http://h/', { url: '' }],
      ['t', { transId: 't', url: '' }],
      ['t x - h http://h/', { transId: 't', url: '' }],
      ['t -1 - h http://h/', { transId: 't', url: '' }],
      ['t 4294967296 - h http://h/', { transId: 't', url: '' }],
      ['t 4294967295', { transId: 't', docId: 4_294_967_295, url: '' }],
      ['t 1 - h', { transId: 't', docId: 1, url: '' }],
      ['t 1 - h ', { transId: 't', docId: 1, url: '' }],
      ['t 1 - h http://h/ more  and', { transId: 't', docId: 1, url: 'http://h/ more  and' }],
      ['t 1 - h http://h/\xe4\0', { transId: 't', docId: 1, url: 'http://h/\xe4\0' }],
      ['t 1 - h /\xe4', { transId: 't', docId: 1, url: 'http://h/\xe4' }],
      ['t 1 - ex mple http://ex mple/', { transId: 't', docId: 1, url: 'mple http://ex mple/' }],
      ['t 1 999.1.1.1 h http://h/', { transId: 't', docId: 1, url }],
      ['t 1 [::1] h http://h/', { transId: 't', docId: 1, url }],
      ['t 1 fe80::1%lo h http://h/', { transId: 't', docId: 1, url }],
      ['t 1 - -h http://h/', { transId: 't', docId: 1, url }],
      ['t 1 - - http://h/', { transId: 't', docId: 1, url }],
      [`t 1 - ${'x'.repeat(64)} http://h/`, { transId: 't', docId: 1, url }],
      [`t 1 - ${'x.'.repeat(200)} http://h/`, { transId: 't', docId: 1, url }],
      ['t 1 - h..h /', { transId: 't', docId: 1, url: '/' }],
    ];
    for (const [line, known] of cases) {
      const { why, shown, ...rest } = parseServerLine(line) as Extract<ServerLine, { kind: 'bad' }>;
      assert.match(shown, /^[\x20-\x7e]*$/);
      assert.deepEqual(rest, { kind: 'bad', ...known }, line);
      assert.match(why, /^[\x20-\x7e]+$/);
    }
  });
});

describe('any bytes', () => {
  it('are lines to both sides, and never an error', () => {
    const bytes = fc.uint8Array({ maxLength: 200 }).map(array => Buffer.from(array).toString('latin1'));
    const near = fc
      .array(
        fc.oneof(fc.constantFrom('GET', 'DONE', 'WORKING', 'ERR', '1', ' ', ' ', '\n', '\r', '\0'), word(5)),
      )
      .map(words => words.join(''));
    fc.assert(
      fc.property(fc.oneof(bytes, near), fc.integer({ min: 1, max: 30 }), (text, size) => {
        const count = text.split('\n').length - 1;
        assert.equal(readAll(new SpiderLineReader(), text, size).length, count);
        assert.equal(readAll(new ServerLineReader(), text, size).length, count);
      }),
      { numRuns: amount(500, 2000) },
    );
  });

  it('make one line of ERR', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3000 }), text => {
        assert.match(formatErr(text), /^ERR [\x20-\x7e]{0,403}\n$/);
      }),
    );
  });
});

it('the host of a url stands in a line without brackets', () => {
  assert.equal(hostNameOf(new URL('http://[2001:db8::7]:80/')), '2001:db8::7');
  assert.equal(hostNameOf(new URL('http://B\u00fccher.example/')), 'xn--bcher-kva.example');
});
