import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodeText } from '../../../src/cu/text/decode.js';
import { pageText } from '../../../src/cu/text/html.js';

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
    ['survives a quote that is never closed', '<p title="oops>first</p><p>second</p>', 'first second'],
    ['reads CDATA as text', '<t><![CDATA[inside]]></t>', 'inside]]>'],
    ['does not take apostrophes in unquoted values for quotes', "<p title=don't>x</p><p>y's</p>", "x y's"],
  ] as const) {
    it(what, () => assert.equal(pageText(html).text, text));
  }

  it('has the title apart, and only the first', () => {
    assert.deepEqual(
      pageText('<title>The &lt;b&gt;\n title</title><svg><title>drawing</title></svg><p>body'),
      { title: 'The <b> title', text: 'drawing body' },
    );
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
    for (const piece of ['<a x="', "<a x='>", '<!--', '<title', '<p =">', '</', '<script>', '&#']) {
      pageText(piece.repeat(200_000));
    }
    pageText(`<p ${'a="b" '.repeat(200_000)}`);
    pageText(`<p ${'a="b" '.repeat(200_000)}>`);
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
  ] as const) {
    it(`reads ${what}`, () => assert.equal(decodeText(bytes, markup), text));
  }
});
