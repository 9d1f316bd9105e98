import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeDocument } from '../../src/text/decode.js';

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const inHex = (hex: string) => Buffer.from(hex, 'hex');
/** "Приливы и отливы — это движение моря" and so on: enough letters to tell a language. */
const RUSSIAN = 'd0d2c9ccc9d7d920c920cfd4ccc9d7d920d7cfc4d920d720cdcfd2d120c920cfcbc5c1cec1c8';
const koi8 = (...before: string[]) => Buffer.concat([...before.map(latin1), inHex(RUSSIAN)]);
const READ = 'приливы и отливы воды в моря и океанах';

describe('bytes as text', () => {
  for (const [what, bytes, markup, text, charset] of [
    ['UTF-8', Buffer.from('déjà'), undefined, 'déjà', 'utf-8'],
    ['nothing', Buffer.alloc(0), 'html', '', 'utf-8'],
    ['Latin-1 where it is no UTF-8', latin1('déjà'), undefined, 'déjà', 'windows-1252'],
    ['the encoding a page names', koi8('<meta charset="koi8-r">'), 'html', READ, 'koi8-r'],
    [
      'the encoding an old page names',
      latin1('<META http-equiv=Content-Type content="text/html; charset=iso-8859-1">é'),
      'html',
      'é',
      'windows-1252',
    ],
    [
      'the encoding of no other pragma',
      latin1('<meta http-equiv=refresh content="1; charset=koi8-r">é'),
      'html',
      'é',
      'windows-1252',
    ],
    [
      'the encoding that an attribute only seems to name',
      latin1('<a title="<meta charset=koi8-r>"><meta name=x charset=latin1>é'),
      'html',
      'é',
      'windows-1252',
    ],
    [
      'the encoding an XML declaration names',
      koi8('<?xml version="1.0" encoding=\'KOI8-R\'?><p>'),
      'xml',
      READ,
      'koi8-r',
    ],
    ['the same of HTML', koi8('<?xml version="1.0" encoding="koi8-r"?><p>'), 'html', READ, 'koi8-r'],
    ['an unknown encoding as what it looks like', koi8('<meta charset=martian>'), 'html', READ, 'koi8-r'],
    ['UTF-16 by its mark', inHex('fffe6100e900'), undefined, 'aé', 'utf-16le'],
    ['UTF-16 of the other order', inHex('feff006100e9'), undefined, 'aé', 'utf-16be'],
    ['UTF-8 without its mark', Buffer.from('\ufeffa'), undefined, 'a', 'utf-8'],
    ['UTF-8 that says it is UTF-16', Buffer.from('<meta charset=utf-16>é'), 'html', 'é', 'utf-8'],
    [
      'a page in UTF-8 that is cut inside a character',
      Buffer.from('déjà vu é').subarray(0, -1),
      'html',
      'déjà vu \ufffd',
      'utf-8',
    ],
    [
      'windows-1252 that calls itself UTF-8',
      latin1('<meta charset=utf-8>d\xe9j\xe0 \x93vu\x94'),
      'html',
      'déjà “vu”',
      'windows-1252',
    ],
    [
      'the encoding a page names, not the one in a comment before',
      koi8('<!-- <meta charset=euc-kr> --><meta charset=koi8-r>'),
      'html',
      READ,
      'koi8-r',
    ],
    [
      'UTF-8, whatever a script in it writes',
      Buffer.from(`<script>s = "<meta charset=iso-8859-7>";</script><p>déjà`),
      'html',
      'déjà',
      'utf-8',
    ],
    [
      'the encoding a page names after a script that writes another',
      koi8('<script>s = "<meta charset=iso-8859-7>";</script><meta charset=koi8-r>'),
      'html',
      READ,
      'koi8-r',
    ],
    [
      'the encoding that comes late in the head',
      koi8(`<script>${'x'.repeat(3000)}</script><meta charset=koi8-r>`),
      'html',
      READ,
      'koi8-r',
    ],
  ] as const) {
    it(`reads ${what}`, () => {
      const found = decodeDocument(bytes, { markup });
      assert.equal(found.text.replace(/^.*>/s, ''), text);
      assert.equal(found.charset, charset);
    });
  }

  it('believes a byte order mark, then the server, then the page', () => {
    const page = koi8('<meta charset=euc-kr>');
    assert.equal(decodeDocument(page, { markup: 'html', charset: 'koi8-r' }).charset, 'koi8-r');
    assert.match(decodeDocument(page, { markup: 'html', charset: 'koi8-r' }).text, /приливы/);
    const marked = Buffer.from('\ufeff<meta charset=euc-kr>é');
    assert.equal(decodeDocument(marked, { markup: 'html', charset: 'koi8-r' }).charset, 'utf-8');
    assert.equal(decodeDocument(koi8(), { markup: undefined, charset: 'koi8-r' }).text, READ);
  });

  it('does not believe a server that calls everything UTF-8', () => {
    const page = koi8('<meta charset=koi8-r>');
    assert.deepEqual(decodeDocument(page, { markup: 'html', charset: 'utf-8' }), {
      text: `<meta charset=koi8-r>${READ}`,
      charset: 'koi8-r',
    });
  });

  // Bytes of iconv(1): of each encoding of the standard what tells it from its neighbours.
  for (const [charset, hex, text] of [
    ['utf-8', 'd0bfe282ac', 'п€'],
    ['ibm866', '8fe0a8a2a5e2', 'Привет'],
    ['iso-8859-2', 'b6bc', 'śź'],
    ['iso-8859-3', 'b1f8', 'ħĝ'],
    ['iso-8859-4', 'e6b1', 'æą'],
    ['iso-8859-5', 'bfe0d8', 'При'],
    ['iso-8859-6', 'c7e4', 'ال'],
    ['iso-8859-7', 'e1e2', 'αβ'],
    ['iso-8859-8', 'e0e1', 'אב'],
    ['iso-8859-8-i', 'e0e1', 'אב'],
    ['iso-8859-10', 'bdf0', '―ð'],
    ['iso-8859-13', 'e0ff', 'ą’'],
    ['iso-8859-14', 'f0f7', 'ŵṫ'],
    ['iso-8859-15', 'a4bd', '€œ'],
    ['iso-8859-16', 'a4fe', '€ț'],
    ['koi8-r', 'f0d2c9a3', 'Приё'],
    ['koi8-u', 'a4a6a7ae', 'єіїў'],
    ['macintosh', '8ed2', 'é“'],
    ['windows-874', 'a180', 'ก€'],
    ['windows-1250', '9cb9', 'śą'],
    ['windows-1251', 'cff0e8b8', 'Приё'],
    ['windows-1252', '93e994', '“é”'],
    ['windows-1253', 'e180', 'α€'],
    ['windows-1254', 'fdf0', 'ığ'],
    ['windows-1255', 'e0a4', 'א₪'],
    ['windows-1256', 'c780', 'ا€'],
    ['windows-1257', 'e0b4', 'ą´'],
    ['windows-1258', 'd5fe', 'Ơ₫'],
    ['x-mac-cyrillic', '8fa2b6', 'ПҐґ'],
    ['gbk', 'd6d0cec480', '中文€'],
    ['gb18030', 'd6d0cec481308130', '中文\u0080'],
    ['big5', 'c163c5e9a4a4a4e5', '繁體中文'],
    ['euc-jp', 'c6fccbdc8eb1', '日本ｱ'],
    ['iso-2022-jp', '1b2442467c4b5c1b2842', '日本'],
    ['shift_jis', '93fa967b8cea', '日本語'],
    ['euc-kr', 'c7d1b1b9bef0', '한국언'],
    ['utf-16be', '043f00e9', 'пé'],
    ['utf-16le', '3f04e900', 'пé'],
    ['x-user-defined', '41e9', 'A\uf7e9'],
    ['replacement', '41e9', '\ufffd'],
  ] as const) {
    it(`reads ${charset} where the server says so`, () => {
      assert.deepEqual(decodeDocument(inHex(hex), { markup: undefined, charset }), { text, charset });
    });
  }
});

describe('the encoding that text looks to be in', () => {
  // Bytes of iconv(1), tags around them.
  for (const [charset, hex, text] of [
    ['koi8-r', RUSSIAN, READ],
    [
      'windows-1251',
      'cff0e8ebe8e2fb20e820eef2ebe8e2fb20e2eee4fb20e220eceef0e5',
      'Приливы и отливы воды в море',
    ],
    [
      'iso-8859-5',
      'bfe0d8dbd8d2eb20d820dee2dbd8d2eb20d2ded4eb20d220dcdee0d5',
      'Приливы и отливы воды в море',
    ],
    [
      'shift_jis',
      '92aa8eac82c682cd81418ee582c682b582c48c8e82c691be977a82cc88f897cd82c982e682c182c48b4e82ab82e9',
      '潮汐とは、主として月と太陽の引力によって起きる',
    ],
    [
      'euc-jp',
      'c4acbcaea4c8a4cfa1a2bce7a4c8a4b7a4c6b7eea4c8c2c0cddba4ceb0facecfa4cba4e8a4c3a4c6b5afa4ada4eb',
      '潮汐とは、主として月と太陽の引力によって起きる',
    ],
    ['iso-2022-jp', '1b2442467c4b5c386c244e255a213c25381b2842', '日本語のページ'],
    ['gb18030', 'b3b1cfabcac7baa3cbaed6dcc6dad0d4d5c7c2e4cfd6cff3a1a3', '潮汐是海水周期性涨落现象。'],
    ['big5', 'bce9a6c1ac4faefca4f4b667b4c1a9cabaa6b8a8b27bb648a143', '潮汐是海水週期性漲落現象。'],
    [
      'euc-kr',
      'c1b6bcaec0ba20b4deb0fa20c5c2bee7c0c720c0ceb7c2bfa120c0c7c7d8',
      '조석은 달과 태양의 인력에 의해',
    ],
    [
      'windows-1252',
      '4465732070686f746f73206465206d657320766163616e636573206492e974e9206574206492617574726573',
      'Des photos de mes vacances d’été et d’autres',
    ],
    [
      'iso-8859-2',
      '5a61bff3b3e62067eab66cb1206a61bcf12e2050b37977792069206f6470b37977792077f364',
      'Zażółć gęślą jaźń. Pływy i odpływy wód',
    ],
  ] as const) {
    it(`is ${charset}`, () => {
      const page = Buffer.concat([latin1('<html><body class="text">'), inHex(hex), latin1('</body></html>')]);
      const found = decodeDocument(page, { markup: 'html' });
      assert.deepEqual(
        { charset: found.charset, text: found.text.replace(/<[^>]*>/g, '') },
        { charset, text },
      );
    });
  }

  it('is windows-1252 where there are too few letters to tell', () => {
    for (const text of ['Copyright \xa9 2001', '20\xb0C', 'Bj\xf6rn'])
      assert.equal(decodeDocument(latin1(text), { markup: undefined }).charset, 'windows-1252', text);
  });

  it('is found in bytes of any kind, and in their beginning alone', () => {
    assert.equal(decodeDocument(Buffer.alloc(1_000_000, 0xff), { markup: 'html' }).text.length, 1_000_000);
    const late = Buffer.concat([Buffer.alloc(2_000_000, 0x20), inHex(RUSSIAN)]);
    assert.equal(decodeDocument(late, { markup: undefined }).charset, 'koi8-r');
  });
});
