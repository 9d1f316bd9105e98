import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parse, type DefaultTreeAdapterTypes } from 'parse5';
import { pageText } from '../../src/text/html.js';
import { amount } from '../support/long.js';

describe('the text of a page', () => {
  for (const [what, html, text] of [
    ['keeps words apart at blocks', '<p>one</p><p>two<br>three</p><td>a</td><td>b</td>', 'one two three a b'],
    ['keeps words together over inline markup', 'un<b>believ</b>able<a href="x">!</a>', 'unbelievable!'],
    ['leaves out scripts and styles', 'a <script>if (a<b) "</p>"</script><style>p{}</style>b', 'a b'],
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
    ['has no hyphens that show only where a line is broken', 'hy&shy;phen\u00adation', 'hyphenation'],
    ['goes on after an empty title in a drawing', 'a<svg><title/></svg> b', 'a b'],
    ['goes on after an empty style and script in a drawing', '<svg><style/><script/></svg>b', 'b'],
    [
      'has the words of a drawing, and not what describes it',
      '<svg><desc>d</desc><text>w<tspan>x</text></svg>',
      'wx',
    ],
    ['ends a drawing where HTML begins', '<svg><g><title/><p>x</svg> y', 'x y'],
    [
      'has words strewn about in a table before it',
      '<table><tr><td>b</td></tr>a<tr><td>c</table>d',
      'a b c d',
    ],
    [
      'leaves out what is hidden, to the end of its parent where it is not closed',
      '<div><p hidden>x<b>y</div>z',
      'z',
    ],
    [
      'leaves out what style hides',
      '<p style="color:red; DISPLAY : none">x</p><i style="visibility:hidden">y</i>z',
      'z',
    ],
    [
      'leaves out what closed windows and media would show',
      '<dialog>x</dialog><video>y</video><textarea>t</textarea>z',
      'z',
    ],
    ['has what may be opened', '<details><summary>a</summary>b</details><dialog open>c</dialog>', 'a b c'],
    ['has what stands in for scripts', '<noscript>a <p>b</noscript>', 'a b'],
    ['passes over a form in a form', '<form>a<form hidden>b</form>c', 'a b c'],
    ['ends an item with the next one', '<ul><li hidden>x<li>y<ul><li hidden>z</ul>w</ul>', 'y w'],
    ['ends a cell with the next one', '<table><tr><td hidden>x<td>y<tr hidden><td>z</table>w', 'y w'],
    [
      'keeps words together over pictures and what shows no words',
      'wo<img>rd a<picture><img></picture>b c<video>x</video>d',
      'word ab cd',
    ],
    [
      'keeps words apart at unknown elements, choices and formulas',
      'a<x-y>b</x-y><select><option>c<option>d</select>',
      'a b c d',
    ],
    ['has no byte order marks in its words', 'wo&#xFEFF;rd', 'word'],
    [
      'keeps words apart that style puts into boxes',
      '<i style="display:block">a</i><i style="display:flex"><b>b</b><b>c<u>d</u></b></i>e<i style="display:inline-block">f</i>',
      'a b cd ef',
    ],
    [
      'leaves out what is found alone',
      'a<p hidden=until-found>x</p><p style="content-visibility: hidden">y</p>b',
      'a b',
    ],
    [
      'leaves out a script whose comment has an end tag',
      'a<script><!-- <script> "</script>"; x --></SCRIPT >b<script><!--<script>--></script>c<script><!--<script></script>',
      'abc',
    ],
    ['ends formatting across blocks', '<a hidden>x<div>y</a>z</div>', 'z'],
  ] as const) {
    it(what, () => assert.equal(pageText(html).text, text));
  }

  it('reads CDATA and empty elements of XML', () => {
    const xml = '<t>a<script/><![CDATA[in<b>side]]><title/>b &eacute;</t>';
    assert.equal(pageText(xml, 'all', true).text, 'a in<b>side b é');
  });

  it('takes CDATA outside of drawings and formulas for a comment up to the next >, as a parser that makes a tree does', () => {
    const pieces = [
      '<![CDATA[',
      '<![CDATA[',
      ']]>',
      '>',
      '<i>',
      '</i>',
      '<math><mi>',
      '</mi></math>',
      '<p>',
      '<title>x',
      'w ',
    ];
    const wordsOf = (text: string) => text.match(/w\d+/g) ?? [];
    const textOf = (node: DefaultTreeAdapterTypes.Node): string => {
      if ('value' in node) return node.value;
      if ('childNodes' in node && node.nodeName !== 'title') return node.childNodes.map(textOf).join('');
      return '';
    };
    let words = 0;
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 24 }), chosen => {
        const html = chosen.map((piece, i) => (piece === 'w ' ? `w${i} ` : piece)).join('');
        const expected = wordsOf(textOf(parse(html)));
        words += expected.length;
        assert.deepEqual(wordsOf(pageText(html).text), expected, html);
      }),
      { numRuns: amount(200, 1000) },
    );
    assert.ok(words > amount(20, 100));
    assert.equal(pageText('a<![CDATA[ b > c ]]> d').text, 'a c ]]> d');
    assert.equal(pageText('<title><![CDATA[x]]></title>').title, '<![CDATA[x]]>');
    assert.equal(pageText('<svg><text><![CDATA[in<b>side]]></text></svg>').text, 'in<b>side');
  });

  it('has the title apart, and only the first', () => {
    assert.deepEqual(
      pageText('<title>The &lt;b&gt;\n title</title><svg><title>drawing</title></svg><p>body'),
      { title: 'The <b> title', text: 'body' },
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
      '<svg><g>',
      '<math><mi>',
      '<table><td>x',
      '<table>x',
      '<a><div></a>',
      '<form><div></form>',
      '<ul><div></li>',
      '<template><select>',
      '<script><!--<script></script></script>',
      '<script><!--<script></script>',
      'x<select> </select>',
      '<i style=display:flex>x',
      '<![CDATA[x',
      '<![CDATA[x>',
      '<math><mi><![CDATA[x',
      '<math><mi><![CDATA[x]]>',
    ]) {
      pageText(piece.repeat(amount(10_000, 40_000)), 'readable');
    }
    pageText(`<p ${'a="b" '.repeat(100_000)}`);
    pageText(`<p ${'a="b" '.repeat(100_000)}>`);
    // What makes a parser that keeps open elements look through all of them, for each.
    pageText('<i>'.repeat(100_000) + '</b>'.repeat(100_000), 'readable');
    pageText('<svg>'.repeat(100_000) + '</math>'.repeat(100_000), 'readable');
    pageText('<b>'.repeat(100_000) + '<a><p></a>'.repeat(100_000), 'readable');
    // A run of blanks that is not at the end of its line.
    assert.equal(pageText(`<pre>a${' '.repeat(2_000_000)}b  \n`, 'readable').text.length, 2_000_002);
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

  it('is there where a form encloses the page, without the navigation in it', () => {
    const html = `<form action="/x"><nav><a href=1>Home</a> <a href=2>Boats</a></nav><h1>Tides</h1><p>The sea rises.</form>`;
    assert.equal(pageText(html, 'readable').text, 'Tides\nThe sea rises.');
  });

  it('is there where what stands beside it is not closed', () => {
    for (const tag of [
      '<nav>',
      '<aside>',
      '<header>',
      '<footer>',
      '<div role=banner>',
      '<div aria-hidden=true>',
    ])
      assert.equal(
        pageText(`${tag}<a href=/>Home</a><h1>Tides</h1><p>The sea rises, and falls.`, 'readable').text,
        'Tides\nThe sea rises, and falls.',
        tag,
      );
  });

  it('is never empty where there are words', () => {
    const tags =
      'nav aside header footer form main article a p div table td button select option svg noscript'.split(
        ' ',
      );
    const piece = fc.oneof(
      fc.constantFrom(...tags).map(tag => `<${tag}>`),
      fc.constantFrom(...tags).map(tag => `</${tag}>`),
      fc.constant('word '),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), pieces => {
        const html = pieces.join('');
        const [all, readable] = [pageText(html).text, pageText(html, 'readable').text];
        assert.equal(readable === '', all === '', html);
      }),
    );
  });

  it('keeps the lines of preformatted text, and their indentation', () => {
    const html =
      '<p>Say:<pre>\n  if (a)\n\n    <b>b</b>();  \n</pre><p>x  y<div style="white-space: pre">a\n b</div>';
    assert.equal(pageText(html, 'readable').text, 'Say:\n  if (a)\n\n    b();\nx y\na\n b');
    assert.equal(pageText('<pre>a<br>  b</pre>', 'readable').text, 'a\n  b');
    assert.equal(pageText(html).text, 'Say: if (a) b(); x y a b');
  });

  it('is a line a paragraph, whatever stands inside of it', () => {
    assert.equal(
      pageText(
        '<p>Press the <img src=ok.png alt=OK> button and wait for <math><mi>x</mi><mo>=</mo><mn>2</mn></math> seconds, ' +
          'then pick <select><option>one<option>two</select> in the <x-list>list</x-list><iframe>x</iframe>.<p>Done.',
        'readable',
      ).text,
      'Press the button and wait for x = 2 seconds, then pick in the list .\nDone.',
    );
  });

  it('has an inline <main> and nothing of the line around it', () => {
    const long = 'Water rises and falls with the moon. '.repeat(10).trim();
    assert.equal(pageText(`Around <x-y role=main>${long}</x-y> it`, 'readable').text, long);
  });

  it('keeps a teaser of a <main> from hiding the page', () => {
    assert.equal(pageText('<main><p>Loading</main><p>Words here', 'readable').text, 'Loading\nWords here');
  });
});
