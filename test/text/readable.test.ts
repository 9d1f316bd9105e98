/** What of a page is content though it is a link, or stands in a button. docs/design/text.md */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pageText } from '../../src/text/html.js';

const readable = (html: string, xml = false) => pageText(html, 'readable', xml).text;
const WORDS = 'Water rises and falls with the moon, twice a day on most coasts. '.repeat(5).trim();
/** Of the content, with words around it that are enough for the links not to be all of it. */
const within = (html: string) =>
  readable(`<p>${WORDS}</p>${html}<p>${WORDS}</p>`).replaceAll(WORDS, '').trim();
const inMain = (html: string) =>
  readable(`<main><p>${WORDS}</p>${html}<p>${WORDS}</p></main>`).replaceAll(WORDS, '').trim();

describe('what leads nowhere else is no link', () => {
  for (const [what, html, text] of [
    ['an anchor that is closed late', '<a name="s1"/><p>One.</p><p>Two.</p>', 'One.\nTwo.'],
    ['an anchor that is never closed', '<a name=s1><p>One.<h2>Two</h2>', 'One.\nTwo'],
    ['an anchor around a paragraph', '<p><a id="s2">One.</a></p>', 'One.'],
    ['a heading in an anchor', '<h2><a name="x">Heading</a></h2>', 'Heading'],
    ['a heading that links to itself', '<h2 id=s><a href="#s">Syntax</a></h2>', 'Syntax'],
    ['a number', '<p><a href=" TEL:+15550100">+1 555 0100</a></p>', '+1 555 0100'],
    [
      'a mailbox',
      '<p><a href="mai\nlto:office@example.org">office@example.org</a></p>',
      'office@example.org',
    ],
    ['a place', '<p><a href="geo:48.2,16.4">Vienna</a></p>', 'Vienna'],
    ['a script', '<p><a href="javascript:void(0)">Show</a></p>', 'Show'],
    ['an empty address', '<p><a href="">Here</a></p>', 'Here'],
    ['a page elsewhere', '<p><a href="/x">Next page</a></p>', ''],
    ['a page whose name begins with a scheme', '<p><a href="telephone.html">Next page</a></p>', ''],
  ] as const)
    it(`as ${what}`, () => assert.equal(within(html), text));
});

describe('a link that is not closed', () => {
  for (const [what, html, text] of [
    [
      'leads elsewhere to the end of its line',
      '<p>One.<p><a href=x>There<p>Two.<p>Three.',
      'One.\nTwo.\nThree.',
    ],
    ['and no farther than a line break', '<div><a href=x/>there<br>One.</div>Two.', 'One.\nTwo.'],
    ['before another link', '<div><a href=x>there</div><p>One.</p><p>Two <a href=y>b</a>', 'One.\nTwo b'],
    ['in a menu is one', '<ul><li><a href=x>First item<li><a href=y>Second</ul><p>One.', 'One.'],
    ['is not one that is closed late', '<a href=x><div>Card</div><div>of words</div></a><p>One.', 'One.'],
  ] as const)
    it(what, () => assert.equal(within(html), text));
});

describe('tables and lists are judged as a whole', () => {
  const row = (name: string, words: string) => `<tr><td><a href=${name}>${name}</a><td>${words}`;
  const table = (rows: number) =>
    `<table>${Array.from({ length: rows }, (_, i) => row(`pg_${i}`, 'is a catalog')).join('')}</table>`;

  it('a column of links stays with the other', () => {
    assert.equal(within(table(3)), 'pg_0\nis a catalog\npg_1\nis a catalog\npg_2\nis a catalog');
  });

  it('a table of two rows is a layout, and cells of it are judged one by one', () => {
    assert.equal(within(table(2)), 'is a catalog\nis a catalog');
  });

  it('a table around another is a layout, too', () => {
    const inner = `<table>${'<tr><td><a href=x>elsewhere'.repeat(3)}</table>`;
    assert.equal(within(`<table><tr><td>a<tr><td>b<tr><td>${inner}</table>`), 'a\nb');
  });

  it('a list of definitions keeps the expansions that are links', () => {
    const dl =
      '<dl><dt>ANSI<dd><a href=a>American National Standards Institute</a><dt>API<dd>Application interface</dl>';
    assert.equal(within(dl), 'ANSI\nAmerican National Standards Institute\nAPI\nApplication interface');
  });

  it('a list in an item is a part of the list around it', () => {
    const list = `<ul><li>Words of the item, as many as of links.<ul><li><a href=x>First link</a><li><a href=y>Second</a></ul></ul>`;
    assert.equal(within(list), 'Words of the item, as many as of links.\nFirst link\nSecond');
  });

  it('a list of links goes, in <main> as elsewhere', () => {
    const list = '<ul><li><a href=a>First of them</a><li><a href=b>Second of them</a></ul>';
    assert.equal(within(list), '');
    assert.equal(inMain(list), '');
  });

  it('a page of which links are most is its list of them', () => {
    const list = '<ul><li><a href=a>Chapter one</a><li><a href=b>Chapter two</a></ul>';
    assert.equal(readable(`<h1>Contents</h1>${list}`), 'Contents\nChapter one\nChapter two');
  });
});

describe('inside of what is marked as content', () => {
  const links = (count: number, between = '') =>
    Array.from({ length: count }, (_, i) => `<p><a href=${i}>Link number ${i}</a></p>`).join(between);

  it('one block of links, or two, are content', () => {
    assert.equal(inMain(links(1)), 'Link number 0');
    assert.equal(inMain(links(2)), 'Link number 0\nLink number 1');
  });

  it('three are none, also with a label between them', () => {
    assert.equal(inMain(links(3)), '');
    assert.equal(inMain(links(3, '<p>Undo</p>')), 'Undo\nUndo');
  });

  it('headings with words besides their links are content, however many there are', () => {
    const html = '<h3>impl <a href=a>Send</a> for <a href=b>Vec</a></h3>'.repeat(4);
    assert.equal(inMain(html), Array(4).fill('impl Send for Vec').join('\n'));
  });
});

describe('a button', () => {
  for (const html of [
    '<h3><button aria-expanded=false>How long does it take?</button></h3>',
    '<details><summary><button>How long does it take?</button></summary></details>',
    '<dl><dt><button>How long does it take?</button></dl>',
  ])
    it(`is content in ${html}`, () => assert.equal(within(html), 'How long does it take?'));

  it('is none elsewhere', () => assert.equal(within('<button>Buy</button>'), ''));
});

describe('XML', () => {
  it('has no style sheets, scripts and metadata in it, under whatever prefix', () => {
    const h =
      '<h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:head><h:style>p{}</h:style></h:head><h:p>ok</h:p></h:html>';
    const svg = '<svg><metadata>m</metadata><style>.c{}</style><script>var a</script><text>ok</text></svg>';
    const atom = '<feed><content><div xmlns="x"><style>p{}</style>ok</div></content></feed>';
    const xhtml =
      '<html><body><svg:svg><svg:style>p{}</svg:style><metadata>m</metadata></svg:svg>ok</body></html>';
    for (const document of [h, svg, atom, xhtml])
      for (const wanted of ['all', 'readable'] as const)
        assert.equal(pageText(document, wanted, true).text, 'ok', document);
  });
});

describe('what stands in for frames', () => {
  it('is read as what stands in for scripts is, with its tags', () => {
    for (const name of ['noframes', 'noscript']) {
      const html = `<${name}><p>in its <b>place</b></p></${name}>`;
      assert.equal(pageText(`${html}${WORDS}`).text, `in its place ${WORDS}`);
      assert.equal(readable(`${html}<p>${WORDS}`), WORDS);
    }
    const page =
      '<frameset><frame src=a><NOFRAMES><body><p>No frames <a href=b>here</a></body></noframes></frameset>';
    assert.equal(readable(page), 'No frames here');
  });
});

const POSTGRESQL = '/usr/share/doc/postgresql-doc-15/html';
const skip =
  !existsSync(POSTGRESQL) && process.env['CI'] !== 'true' && 'no postgresql-doc-15 (package of Debian)';

describe('the documentation of PostgreSQL', { skip }, () => {
  const page = (name: string) => readFileSync(join(POSTGRESQL, name), 'utf8');

  it('has the names of catalogs and the expansions of acronyms', () => {
    const catalogs = readable(page('catalogs-overview.html'));
    const acronyms = readable(page('acronyms.html'));
    assert.match(catalogs, /^pg_aggregate\naggregate functions$/m);
    assert.match(acronyms, /^ANSI\nAmerican National Standards Institute$/m);
  });

  it('loses one word of a hundred at most for being a link', () => {
    const count = (text: string) => text.match(/\S+/g)?.length ?? 0;
    const names = readdirSync(POSTGRESQL).filter((name, i) => name.endsWith('.html') && i % 12 === 0);
    let words = 0;
    let kept = 0;
    for (const name of names) {
      // Its lines of navigation are tables of links, rightly left out.
      const html = page(name).replace(/<div[^>]*class="nav(?:header|footer)">[\s\S]*?<\/table>/g, '');
      words += count(readable(html.replaceAll(/ href="[^"]*"/g, '')));
      kept += count(readable(html));
    }
    assert.ok(words > 20_000, `${words} words`);
    assert.ok(kept >= 0.99 * words, `${kept} of ${words}`);
  });
});
