import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pageLinks, type PageLinksOptions } from '../../src/text/page-links.js';

const OPTIONS: PageLinksOptions = {
  isXml: false,
  assets: false,
  robotName: 'examplebot',
  maxLinks: 10_000,
  maxValueLength: 8192,
  timeoutMs: 60_000,
  nowMs: () => 0,
};

const read = (document: string, more: Partial<PageLinksOptions> = {}) =>
  pageLinks(document, { ...OPTIONS, ...more });
const hrefs = (document: string, more: Partial<PageLinksOptions> = {}) =>
  read(document, more).links.map(link => link.href);
const withAssets = (document: string) => hrefs(document, { assets: true });

describe('the links of a page', () => {
  it('are those of a, area, frame, iframe and some link elements', () => {
    const page = `<link rel=canonical href=1><link rel="next" href='2'><LINK REL="Prev" HREF=3><link rel=alternate href=4>
      <link rel=stylesheet href=no><link rel="alternate stylesheet" href=no><link rel=author href=no>
      <a href="5">x</a><A HREF=6>x</a><map><area href=7></map><iframe src=8></iframe><form action=no></form><link rel=search href=8b><img src=no>
      <frameset><frame src="9"></frameset>`;
    assert.deepEqual(hrefs(page), ['1', '2', '3', '4', '5', '6', '7', '8', '8b', '9']);
    assert.deepEqual(read(page).links[0], { href: '1', kind: 'canonical', isNofollow: false });
  });

  it('stand in noscript and in noframes too', () => {
    assert.deepEqual(
      hrefs('<noscript><a href=1></noscript><noframes><a href=2></a><base href=/b></noframes><a href=3>'),
      ['1', '2', '3'],
    );
  });

  it('are none of comments, scripts, templates, text areas and CDATA of HTML', () => {
    assert.deepEqual(
      hrefs(`<!-- <a href=no> --><script>"<a href=no>"</script><template><a href=no><template></template>
        <a href=no></template><textarea><a href=no></textarea><title><a href=no></title><style><a href=no></style>
        <xmp><a href=no></xmp><iframe><a href=no></iframe><![CDATA[<a href=no>]]><a href=yes>
        <script><!-- <script> </script> <a href=no> --></script><a href=2></a><plaintext><a href=no>`),
      ['yes', '2'],
    );
  });

  it('are read with their entities, and unquoted', () => {
    assert.deepEqual(hrefs('<a href="?a=1&amp;b=2&copy=3&eacute;"><a href=caf&eacute;.html?&#120;&lt>'), [
      '?a=1&b=2&copy=3é',
      'café.html?x<',
    ]);
    assert.deepEqual(hrefs('<a href="a\0b">'), ['a\ufffdb']);
  });

  it('are read from the bytes of UTF-8', () => {
    const page = `<title>\u65e5</title><a href="caf\u00e9.html?&eacute;">\u00b6</a><style>a { background: url(\u65e5.png) }</style>
      <noframes><a href="\u00fc\0"></noframes><img srcset="\u00e0.png 1x, b.png 2x">`;
    const bytes = `${Buffer.from(page).toString('latin1')}<a href="a\xe9b\xff">`;
    const found = [
      'caf\u00e9.html?\u00e9',
      '\u65e5.png',
      '\u00fc\ufffd',
      '\u00e0.png',
      'b.png',
      'a\ufffdb\ufffd',
    ];
    assert.deepEqual(hrefs(bytes, { isBytes: true, assets: true }), found);
  });

  it('have no fragments: those to one page are one', () => {
    assert.deepEqual(
      hrefs('<a href=#top><a href=1#a><a href=1#b><a href=1><a href="2 #a"><a href="&num;3">'),
      ['', '1', '2 #a'],
    );
    assert.equal(read('<a rel=nofollow href=1#a><a href=1#b>').links[0]?.isNofollow, false);
  });

  it('count once each, and are followed where one of them may be', () => {
    const { links } = read(
      '<a rel=nofollow href=1><a href=1><a href=2 rel="x UGC"><a href=3 rel="sponsored">',
    );
    assert.deepEqual(
      links.map(({ href, isNofollow }) => [href, isNofollow]),
      [
        ['1', false],
        ['2', true],
        ['3', true],
      ],
    );
  });

  it('of a refresh are read as browsers do', () => {
    const refresh = (content: string) => hrefs(`<meta http-equiv=Refresh content="${content}">`);
    for (const content of [
      '0;url=a',
      '0; URL = a',
      "5.5, 'a' x",
      "0;url='a'x",
      '0 a',
      ' 3;a',
      '.;url=a',
      '1;;a',
    ])
      assert.deepEqual(refresh(content), [content === '1;;a' ? ';a' : 'a'], content);
    for (const content of ['5', '', 'a', '5url=a', "0;url=''", '0;', '5;url='])
      assert.deepEqual(refresh(content), [], content);
  });

  it('are relative to the first base', () => {
    assert.equal(read('<base target=x><base href="/a/"><base href="/b/">').base, '/a/');
    assert.equal(read('<a href=1>').base, undefined);
  });

  it('of an XHTML document stand in empty elements, with a prefix or without', () => {
    const page = `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><script/><a href="1"/><h:a href="2"/>
      <template/><a href="3"/><title/><a href="4"/><![CDATA[<a href="no"/>]]><svg><a href="5"/></svg></html>`;
    assert.deepEqual(hrefs(page, { isXml: true }), ['1', '2', '3', '4', '5']);
  });

  it('of drawings are found, and tags mean in them what they mean there', () => {
    assert.deepEqual(
      hrefs(
        '<svg><style><a xlink:href=1></style><title><a href=2></a></title></svg><style><a href=no></style>',
      ),
      ['1', '2'],
    );
    assert.deepEqual(hrefs('<svg><![CDATA[<a href=no>]]><p><title><a href=no></title><a href=1>'), ['1']);
  });

  it('to what shows a page are taken when asked for', () => {
    const page = `<img src=1 srcset="2 1x, 3 2x,4,, 5 100w"><source srcset="6"><video src=7 poster=8><audio src=9>
      <track src=10><script src=11></script><embed src=12><object data=13></object><link rel="shortcut icon" href=14>
      <link rel=stylesheet href=15><body background=16><input type=image src=17><input src=no>
      <style>@import "18"; p { background: url( '19' ) url(20) } /* url(no) */</style><p style="background:url(&quot;21&quot;)">`;
    assert.deepEqual(
      withAssets(page).map(Number),
      Array.from({ length: 21 }, (_, at) => at + 1),
    );
    assert.deepEqual(hrefs(page), []);
  });

  it('of style sheets are read with their escapes', () => {
    const css = String.raw`url(a\)b) url("a\"b") url('\61\000062 c') @import'd\
e'; url() url("") URL(f`;
    assert.deepEqual(withAssets(`<style>${css}</style>`), ['a)b', 'a"b', 'abc', 'de', 'f']);
    const page = '<html><style><![CDATA[ p { background: url(a) } ]]></style></html>';
    assert.deepEqual(hrefs(page, { assets: true, isXml: true }), ['a']);
  });

  it('of a srcset are taken with commas in them', () => {
    assert.deepEqual(withAssets('<img srcset="data:image/gif;base64,AA 1x,b,c 1x (2,3),d">'), [
      'data:image/gif;base64,AA',
      'b,c',
      'd',
    ]);
  });

  it('come with what the page says to robots', () => {
    const page = `<meta name=robots content="NoIndex, nofollow"><meta name="ExampleBot" content=none>
      <meta name=otherbot content=noindex><meta name=robots>`;
    assert.deepEqual(read(page).robots, ['noindex, nofollow', 'none']);
  });
});

describe('limits of a page', () => {
  it('so many links, and no more', () => {
    const page = '<a href=1><a href=2><a href=1><a href=3><a href=4>';
    const found = read(page, { maxLinks: 3 });
    assert.deepEqual(
      found.links.map(link => link.href),
      ['1', '2', '3'],
    );
    assert.equal(found.cut, 'links');
    assert.equal(read(page, { maxLinks: 4 }).cut, undefined);
  });

  it('values that are longer are left out and counted', () => {
    const found = read(`<a href=${'a'.repeat(11)}><a href=${'b'.repeat(10)}>`, { maxValueLength: 10 });
    assert.equal(found.links.length, 1);
    assert.equal(found.long, 1);
  });

  it('time: what was found so far counts', () => {
    let nowMs = 0;
    const found = read('<a href=a>'.repeat(600) + '<a href=b>'.repeat(600), {
      timeoutMs: 2,
      nowMs: () => nowMs++,
    });
    assert.equal(found.cut, 'time');
    assert.deepEqual(
      found.links.map(link => link.href),
      ['a', 'b'],
    );
  });

  it('depth is none: a page of a million open elements takes no longer than its length', () => {
    for (const piece of [
      '<div>',
      '<svg>',
      '<template>',
      '<noframes>',
      '<svg><a href=x>',
      '<a href="',
      '<style>url(',
      '<p style="',
    ])
      assert.equal(read(piece.repeat(100_000), { assets: true }).cut, undefined);
  });
});
