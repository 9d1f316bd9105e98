import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodeDocument, decodeText } from '../../src/text/decode.js';
import { pageText } from '../../src/text/html.js';

describe('the text of a page', () => {
  for (const [what, html, text] of [
    ['keeps words apart at blocks', '<p>one</p><p>two<br>three</p><td>a</td><td>b</td>', 'one two three a b'],
    ['keeps words together over inline markup', 'un<b>believ</b>able<a href="x">!</a>', 'unbelievable!'],
    ['leaves out scripts and styles', 'a<script>if (a<b) "</p>"</script><style>p{}</style>b', 'a b'],
    ['leaves out comments', 'a <!-- <b>hidden</b> > --> b', 'a b'],
    [
      'resolves references',
      'd&eacute;j&#224; &amp; &#x20ac;&nbsp;&lt;5&gt; &unknown; AT&T',
      'déjà & € <5> &unknown; AT&T',
    ],
    ['does not end a tag inside a quoted value', '<a title="1 > 0" alt=\'>\'>x</a>', 'x'],
    ['takes a lone < for what it is', 'a < b <3 c', 'a < b <3 c'],
    ['survives a document that is cut', 'word <a href="http://x', 'word'],
    ['shows nothing of a tag that never ends, as browsers do', 'a<p title="oops>first</p><p>second', 'a'],
    ['does not take apostrophes in unquoted values for quotes', "<p title=don't>x</p><p>y's</p>", "x y's"],
  ] as const) {
    it(what, () => assert.equal(pageText(html).text, text));
  }

  it('reads CDATA and empty elements of XML', () => {
    const xml = '<t>a<script/><![CDATA[in<b>side]]><title/>b &eacute;</t>';
    assert.equal(pageText(xml, 'all', true).text, 'a in<b>side b é');
  });

  it('has the title apart, and only the first', () => {
    assert.deepEqual(
      pageText('<title>The &lt;b&gt;\n title</title><svg><title>drawing</title></svg><p>body'),
      { title: 'The <b> title', text: 'drawing body' },
    );
  });

  it('says in which language it is declared to be', () => {
    for (const [html, language] of [
      ['<html lang="de-AT">x', 'de-AT'],
      ['<html xml:lang=ja><body lang=en>x', 'ja'],
      ['<meta http-equiv="Content-Language" content="fr"><p>x', 'fr'],
      ['<html lang=""><p lang=it>x', undefined],
    ] as const)
      assert.equal(pageText(html).language, language, html);
  });

  it('is found in any input without an error', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('<', '>', '/', '"', "'", '=', '!', '-', '&', ';', 'a', ' ', 'p', '\0'),
        }),
        s => {
          const { title, text } = pageText(s);
          assert.doesNotMatch(title + text, /\0|\n/);
        },
      ),
    );
  });

  it('takes time in proportion to a hostile document', () => {
    for (const piece of [
      '<a x="',
      "<a x='>",
      '<!--',
      '<title',
      '<p =">',
      '</',
      '<script>',
      '&#',
      '<div>',
      '<nav>',
      '<title>x',
      '<',
    ]) {
      pageText(piece.repeat(200_000), 'readable');
    }
    pageText(`<p ${'a="b" '.repeat(200_000)}`);
    pageText(`<p ${'a="b" '.repeat(200_000)}>`);
    // What makes a parser that keeps open elements look through all of them, for each.
    pageText('<i>'.repeat(200_000) + '</b>'.repeat(200_000), 'readable');
    pageText('<svg>'.repeat(200_000) + '</math>'.repeat(200_000), 'readable');
  });
});

const PAGE = `<!doctype html><html lang="en"><head><title>Tides</title></head><body>
<header><h1>The Coast Guide</h1></header><nav><ul><li><a href="/">Home</a><li><a href="/b">Boats</a></ul></nav>
<div id="content"><h1>Tides</h1><p>The moon <em>pulls</em> the sea.<p hidden>Draft.<p>Twice a day
 it <a href="/ebb">ebbs</a> &amp; flows.</p><ul><li><a href="/1">Read on about boats</a></ul></div>
<aside>Subscribe!</aside><footer>Imprint</footer></body></html>`;

describe('the readable text of a page', () => {
  it('is its content, a paragraph a line, without what surrounds it', () => {
    assert.deepEqual(pageText(PAGE, 'readable'), {
      title: 'Tides',
      text: 'Tides\nThe moon pulls the sea.\nTwice a day it ebbs & flows.',
      language: 'en',
    });
  });

  it('is what stands in <main>, or in articles, where they hold the content', () => {
    const long = 'Water rises and falls with the moon. '.repeat(10).trim();
    for (const tag of ['<main>', '<div role="main">', '<article>']) {
      const end = `</${/\w+/.exec(tag)?.[0]}>`;
      const html = `<div>Around</div>${tag}<div><header><h1>In</h1></header><p>${long}</div>${end}<div>After</div>`;
      assert.equal(pageText(html, 'readable').text, `In\n${long}`, tag);
    }
  });

  it('is all there is where a page has nothing but links', () => {
    assert.equal(
      pageText('<ul><li><a href=1>One</a><li><a href=2>Two</a></ul>', 'readable').text,
      'One\nTwo',
    );
  });

  it('keeps a teaser of a <main> from hiding the page', () => {
    assert.equal(pageText('<main><p>Loading</main><p>Words here', 'readable').text, 'Loading\nWords here');
  });
});

describe('bytes as text', () => {
  const latin1 = (text: string) => Buffer.from(text, 'latin1');
  for (const [what, bytes, markup, text] of [
    ['UTF-8', Buffer.from('déjà'), false, 'déjà'],
    ['Latin-1 where it is no UTF-8', latin1('déjà'), false, 'déjà'],
    [
      'the encoding a page names',
      Buffer.concat([Buffer.from('<meta charset="koi8-r">'), Buffer.from([0xc1])]),
      true,
      '<meta charset="koi8-r">а',
    ],
    [
      'the encoding an old page names',
      latin1('<META http-equiv=Content-Type content="text/html; charset=iso-8859-1">é'),
      true,
      '<META http-equiv=Content-Type content="text/html; charset=iso-8859-1">é',
    ],
    [
      'the encoding an XML declaration names',
      latin1('<?xml version="1.0" encoding="ISO-8859-1"?><p>é'),
      true,
      '<?xml version="1.0" encoding="ISO-8859-1"?><p>é',
    ],
    ['an unknown encoding as Latin-1', latin1('<meta charset=martian>é'), true, '<meta charset=martian>é'],
    ['UTF-16 by its mark', Buffer.from([0xff, 0xfe, 0x61, 0, 0xe9, 0]), false, 'aé'],
    ['UTF-8 without its mark', Buffer.from('\ufeffa'), false, 'a'],
    [
      'a page in UTF-8 that is cut inside a character',
      Buffer.from('déjà vu é').subarray(0, -1),
      true,
      'déjà vu \ufffd',
    ],
    [
      'windows-1252 that calls itself UTF-8',
      latin1('<meta charset=utf-8>d\xe9j\xe0 \x93vu\x94'),
      true,
      '<meta charset=utf-8>déjà “vu”',
    ],
    [
      'the encoding a page names, not the one in a comment before',
      Buffer.concat([
        Buffer.from('<!-- <meta charset=euc-kr> --><meta charset=koi8-r>'),
        Buffer.from([0xc1]),
      ]),
      true,
      '<!-- <meta charset=euc-kr> --><meta charset=koi8-r>а',
    ],
  ] as const) {
    it(`reads ${what}`, () => assert.equal(decodeText(bytes, markup), text));
  }

  // Bytes of iconv(1).
  for (const [label, hex, text] of [
    ['shift_jis', '93fa967b8cea', '日本語'],
    ['gb18030', 'd6d0cec481308130', '中文\u0080'],
    ['euc-kr', 'c7d1b1b9bef0', '한국언'],
    ['big5', 'c163c5e9a4a4a4e5', '繁體中文'],
    ['windows-1252', '93e994', '“é”'],
    ['iso-2022-jp', '1b2442467c4b5c1b2842', '日本'],
  ] as const) {
    it(`reads ${label}, and says that it was`, () => {
      const head = `<meta charset="${label}">`;
      const found = decodeDocument(Buffer.concat([Buffer.from(head), Buffer.from(hex, 'hex')]), true);
      assert.deepEqual(found, { text: head + text, charset: label });
    });
  }
});
