/** Pages as Markdown: what is written of each element, bounds, injection, and what an independent parser reads of it. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { textOf } from '../../../src/text/content.js';
import { markdownOf } from '../../../src/text/markdown/page.js';
import { ODD_PAGES } from '../../browser/odd-pages.js';
import { longIt } from '../../support/long.js';
import {
  commonCount,
  foundInHtml,
  foundInMarkdown,
  treeOf,
  wordsOf,
  wordsOfMarkdown,
} from '../../support/markdown-judge.js';

const URL = 'https://h.example/d/p.html';
const read = (html: string | Uint8Array, wanted: 'readable' | 'all' = 'all', mimetype = 'text/html') => {
  const page = markdownOf(Buffer.from(html), { mimetype, charset: 'utf-8', url: URL }, wanted);
  assert.ok(page !== undefined);
  return page;
};
const written = (html: string, mimetype?: string) => read(html, 'all', mimetype).markdown;

const TREES = ['postgresql-doc-15/html', 'git/html', 'apache2-doc/manual/en', 'linux-doc-6.1/html'].map(
  tree => `/usr/share/doc/${tree}`,
);

describe('a page as Markdown', () => {
  for (const [what, html, markdown] of [
    ['headings in one line', '<h2>A<br><p>b</p></h2><h6>C #</h6>', '## A b\n\n###### C \\#\n'],
    ['paragraphs and lines', '<p>a<br>b<p>c<br><br>d', 'a\\\nb\n\nc\n\nd\n'],
    [
      'lists in each other',
      '<ul><li>a<ol start=9><li>b<li>c</ol><li>d</ul>',
      '- a\n\n  9. b\n  10. c\n- d\n',
    ],
    ['an item of several paragraphs', '<ul><li><p>a<p>b<li>c</ul>', '- a\n\n  b\n- c\n'],
    ['quotes', '<blockquote>a<p>b</blockquote><blockquote>c</blockquote>', '> a\n>\n> b\n\n> c\n'],
    ['terms', '<dl><dt>Term<dd>What it is</dl>', '**Term**\n\nWhat it is\n'],
    ['rules as nothing', 'a<hr>b', 'a\n\nb\n'],
    [
      'preformatted lines as they are',
      '<pre class="x language-c++">\n  a  \n\n\t```\n<b>b</b></pre>',
      '````c++\n  a\n\n\t```\nb\n````\n',
    ],
    ['languages of several highlighters', '<pre><code class=lang-js>a</code></pre>', '```js\na\n```\n'],
    [
      'no language that is none',
      '<pre class="language-a`b">a</pre><pre data-lang=sh>b</pre>',
      '```\na\n```\n\n```sh\nb\n```\n',
    ],
    ['code', 'a <code>b`c</code> <tt>`</tt> <kbd> d </kbd>e', 'a ``b`c`` `` ` `` `d` e\n'],
    ['marks beside blanks', 'a<b> b </b>c <i>d<b>e</b></i>', 'a **b** c *d**e***\n'],
    ['words alone where marks would not be read', '<b>"a"</b>b', '"a"b\n'],
    [
      'links, absolute',
      '<a href="../x (1).html">a</a> <a href=#s>b</a>',
      '[a](https://h.example/x%20%281%29.html) [b](https://h.example/d/p.html#s)\n',
    ],
    ['links by the base', '<base href=/e/><a href=x>a</a>', '[a](https://h.example/e/x)\n'],
    [
      'words of what is no link',
      '<a href="JaVa\nscript:x()">a</a> <a href=data:,x>b</a> <a href="http://[">c</a> <a>d</a>',
      'a b c d\n',
    ],
    ['no picture of a link', 'a!<a href=x>b</a>', 'a\\![b](https://h.example/d/x)\n'],
    [
      'pictures with words',
      '<img src=a.png alt="x]y"><img src=b.png><img src=data:, alt=z>',
      '![x\\]y](https://h.example/d/a.png)\n',
    ],
    [
      'pictures at the end of words, and alone behind a blank',
      '<p>a <img src=a.png alt=b><p><a href=x> <img src=c.png alt=d></a>',
      'a![b](https://h.example/d/a.png)\n\n[![d](https://h.example/d/c.png)](https://h.example/d/x)\n',
    ],
    ['no link whose picture is none', '<p>a <a href=x><img src=data:, alt=b></a>', 'a\n'],
    ['code that holds what is no link', '<code>a<a href=data:,x>b</a></code>', '`ab`\n'],
    [
      'marks before code and beside links',
      '<b>"a"</b><code>b</code> <i>"c"</i><a href=x>d</a>',
      '**"a"**`b` *"c"*[d](https://h.example/d/x)\n',
    ],
    [
      'marks as words',
      '\\ ` * _ [ ] <i>&lt;</i> &amp;amp; &amp; ~~',
      '\\\\ \\` \\* \\_ \\[ \\] *\\<* \\&amp; & \\~\\~\n',
    ],
    [
      'what would begin something else',
      '<p># a<p>&gt; b<p>+ c<p>- d<p>=<p>1. e<p>2) f',
      '\\# a\n\n\\> b\n\n\\+ c\n\n\\- d\n\n\\=\n\n1\\. e\n\n2\\) f\n',
    ],
    [
      'addresses in words',
      'see https://h.example/a_b*c and x_y',
      'see https://h.example/a_b\\*c and x\\_y\n',
    ],
    [
      'a table',
      '<table><caption>C</caption><tr><th>A<th>B<tr><td>1|<td>a<br>b<tr><td colspan=2>w</table>',
      'C\n\n| A | B |\n| --- | --- |\n| 1\\| | a<br>b |\n| w |  |\n',
    ],
    [
      'a table without a head',
      '<table><tr><th>a<td>b<tr><td><code>c|d</code></table>',
      '|  |  |\n| --- | --- |\n| a | b |\n| `c\\|d` |  |\n',
    ],
    [
      'cells that reach down',
      '<table><tr><td rowspan=2>a<td>b<tr><td>c</table>',
      '|  |  |\n| --- | --- |\n| a | b |\n|  | c |\n',
    ],
    ['tables of one column as blocks', '<table><tr><td>a<tr><td>b</table>', 'a\n\nb\n'],
    [
      'tables with headings, code, or tables in them as blocks',
      '<table><tr><td><h2>a</h2><td>b</table><table><tr><td>c<td><pre>d\ne</pre></table><table><tr><td>f<td><table><tr><td>g<td>h</table></table>',
      '## a\n\nb\n\nc\n\n```\nd\ne\n```\n\nf\n\n|  |  |\n| --- | --- |\n| g | h |\n',
    ],
    [
      'words between the parts of a table before it',
      '<table><tr><td>a<td>b</tr>c</table>',
      'c\n\n|  |  |\n| --- | --- |\n| a | b |\n',
    ],
  ] as const)
    it(`has ${what}`, () => assert.equal(written(html), markdown));

  it('says what the page says of itself', () => {
    const page = read(
      '<html lang=de><title> A  b</title><meta property=og:description content=x><meta name=Description content=" y  z"><p>c',
    );
    assert.deepEqual([page.title, page.language, page.description], ['A b', 'de', 'y z']);
    assert.equal(
      read(`<meta property="og:description" content="${'x'.repeat(2000)}">a`).description?.length,
      1000,
    );
  });

  it('of plain text has paragraphs, of Markdown the lines as they are', () => {
    assert.equal(written('# a\n*b*\n \n\n  c\n', 'text/plain'), '\\# a\n\\*b\\*\n\nc\n');
    assert.equal(
      written('# A *b*\n\ntext  \n[c](d)\n\n\n~~~ js\n#x\n~~~\n', 'text/markdown'),
      '# A *b*\n\ntext\n[c](d)\n\n```js\n#x\n```\n',
    );
  });

  it('is known by its words alone, whatever links and pictures are', () => {
    const one = read('<title>t</title><p>a <a href=x>b</a><img src=a alt=b>');
    const other = read('<title>t</title><div>a <b><a href=y>b</a></b></div>');
    assert.equal(one.plain, 't\na b');
    assert.equal(other.plain, one.plain);
  });
});

describe('an independent parser', () => {
  const agree = (html: string) => {
    for (const wanted of ['readable', 'all'] as const) {
      const bytes = Buffer.from(html);
      const text = textOf(bytes, { mimetype: 'text/html', charset: 'utf-8' }, wanted)?.text ?? '';
      const markdown = read(bytes, wanted).markdown;
      assert.deepEqual(wordsOfMarkdown(markdown), wordsOf(text), `${html}\n${markdown}`);
    }
  };

  it('reads the words of the text in odd pages, in order', () => {
    for (const [, html] of ODD_PAGES) agree(html);
  });

  const soups = (runs: number) => {
    const tags =
      'p div b i em strong code a pre ul ol li blockquote table tr td th h1 h3 dl dt dd br hr main nav span caption'.split(
        ' ',
      );
    const piece = fc.oneof(
      fc.constantFrom(...tags).map(tag => `<${tag}>`),
      fc.constantFrom(...tags).map(tag => `</${tag}>`),
      fc.constantFrom(
        '<a href=x>',
        '<img src=a alt="">',
        '<td colspan=2>',
        '<ol start=7>',
        '<pre class=language-c>',
      ),
      fc.constantFrom(
        'w ',
        'word',
        ' two words ',
        '*',
        '_',
        '`',
        '[x](y)',
        '!',
        '# ',
        '1. ',
        '- ',
        '|',
        '&lt;b>',
        '\\',
        '~',
        '"q"',
        'é',
        '\n',
        '\n\n  ',
        '---',
        '```',
        '&amp;copy;',
        '日本',
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), pieces => agree(pieces.join(''))),
      { numRuns: runs },
    );
  };
  it('reads the words of the text in 200 soups of tags', () => soups(200));
  longIt('reads the words of the text in 10,000 soups of tags', async () => soups(10_000));

  const real = (count: number) => {
    const sums = { pre: [0, 0], tables: [0, 0], links: [0, 0], headings: [0, 0] };
    for (const file of pagesOf(TREES, count)) {
      const bytes = readFileSync(file);
      agree(bytes.toString());
      const there = foundInMarkdown(read(bytes).markdown);
      for (const [kind, wanted] of Object.entries(foundInHtml(bytes.toString(), URL)) as [
        keyof typeof sums,
        string[],
      ][]) {
        sums[kind][0] = (sums[kind][0] ?? 0) + commonCount(wanted, there[kind]);
        sums[kind][1] = (sums[kind][1] ?? 0) + wanted.length;
      }
    }
    for (const [kind, [same = 0, all = 0]] of Object.entries(sums)) {
      assert.ok(all >= count / 4, `${all} ${kind}`);
      assert.ok(same >= (kind === 'links' ? 0.985 : 0.98) * all, `${kind}: ${same} of ${all}`);
    }
  };
  const skip =
    TREES.some(tree => !existsSync(tree)) && process.env['CI'] !== 'true' && 'no documentation of Debian';
  it('reads code, tables, links and headings of 4 real pages', { skip }, () => real(4));
  longIt('reads code, tables, links and headings of 200 real pages', async () => real(200));
});

function pagesOf(trees: readonly string[], count: number): string[] {
  const each = Math.ceil(count / trees.length);
  return trees.flatMap(tree => {
    const files = readdirSync(tree, { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.html'))
      .sort()
      .map(name => join(tree, name))
      .filter(file => statSync(file).isFile() && statSync(file).size < 100_000);
    return Array.from({ length: each }, (_, i) => files[Math.floor((i * files.length) / each)] ?? '');
  });
}

describe('strangers', () => {
  it('write no link to a script, no mark and no line of their own', () => {
    const evil = '"\'\n---\n| a | ``` ~~~ \u202e](javascript:x) <script>';
    const text = evil.replaceAll('<', '&lt;').replaceAll('"', '&quot;');
    const html = `<title>${text}</title><h1>${text}</h1><p><a href="${text}">${text}</a><table><tr><td>${text}<td>b</table><pre>${text}</pre>`;
    const page = read(html);
    const markdown = page.markdown;
    assert.equal(page.title.includes('\n'), false);
    const found = foundInMarkdown(markdown);
    assert.deepEqual(
      found.links.filter(link => /^javascript:/i.test(link)),
      [],
    );
    assert.deepEqual([found.tables.length, found.pre.length, found.headings.length], [1, 1, 1]);
    assert.equal(
      treeOf(markdown).children?.some(({ type }) => type === 'html' || type === 'thematicBreak'),
      false,
    );
  });
});
