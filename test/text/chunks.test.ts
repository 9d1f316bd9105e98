/** Pages in pieces: where they are divided, and what stays the same when a page changes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Chunks, type Chunk } from '../../src/text/chunks.js';
import { hashOf, markdownOf } from '../../src/text/markdown/page.js';
import { ODD_PAGES } from '../browser/odd-pages.js';
import { ROOT } from '../support/tree.js';
import { treeOf, wordsOf } from '../support/markdown-judge.js';
import { amount } from '../support/long.js';

function chunks(html: string, size = 1500, mimetype = 'text/html'): Chunk[] {
  const page = markdownOf(Buffer.from(html), { mimetype, charset: 'utf-8', url: 'https://h.example/' });
  return page === undefined ? [] : [...new Chunks(page, size).all()];
}
const texts = (html: string, size?: number, mimetype?: string) =>
  chunks(html, size, mimetype).map(({ text }) => text);
const SENTENCE = 'Water rises and falls with the moon. ';

describe('a page in pieces', () => {
  it('has title and headings in front of the words of each, without what is only seen', () => {
    const html =
      '<title>T</title><p>a <a href=x>b</a><img src=i alt=i></p><h1>H</h1><h2>I</h2><p><b>c</b> d_e<h2>J</h2><pre>f\n g</pre>';
    assert.deepEqual(texts(html), ['T\na b', 'H > I\nc d_e', 'H > J\nf\n g']);
    const [first, second] = chunks(html);
    assert.deepEqual(first?.headings, []);
    assert.deepEqual(second?.headings, ['H', 'I']);
    assert.equal(second?.markdown, '# H\n\n## I\n\n**c** d\\_e\n');
    assert.equal(second?.hash, hashOf('H > I\nc d_e'));
  });

  it('begins a new one at further headings once there is a third of it', () => {
    const short = '<h2>A</h2><p>a<h3>B</h3><p>b<h3>C</h3><p>c';
    assert.deepEqual(texts(short), ['A\na\nB\nb\nC\nc']);
    const long = `<h2>A</h2><p>${SENTENCE.repeat(3)}<h3>B</h3><p>b`;
    assert.deepEqual(texts(long, 300), [`A\n${SENTENCE.repeat(3).trim()}`, 'A > B\nb']);
  });

  it('says each heading that is not in front of it, and lets none stand at an end', () => {
    assert.deepEqual(texts('<h2>A</h2><h2>B</h2><p>b'), ['B\nA\nb']);
    const html = `<h2>A</h2><p>some words<h3>B</h3><p>${SENTENCE.repeat(5)}`;
    assert.deepEqual(texts(html, 200), ['A\nsome words', `A > B\n${SENTENCE.repeat(5).trim()}`]);
  });

  it('divides a paragraph after a sentence, else a word, never a character', () => {
    for (const part of texts(`<p>${SENTENCE.repeat(40)}`, 200)) assert.match(part, /moon\.$/);
    const words = texts(`<p>${'word '.repeat(200)}`, 200);
    assert.deepEqual(wordsOf(words.join(' ')), Array(200).fill('word'));
    for (const character of [
      '\u{1f600}',
      'e\u0301\u0302',
      '\u{1f469}\u200d\u{1f680}',
      '\u{1f44d}\u{1f3fd}',
    ]) {
      const parts = texts(`<p>${character.repeat(300)}`, 200);
      assert.equal(parts.join(''), character.repeat(300));
      for (const part of parts) assert.equal(part.length % character.length, 0, part.slice(-3));
    }
  });

  it('divides code at lines, each part fenced', () => {
    const code = Array.from({ length: 60 }, (_, i) => `  line ${i}`);
    const parts = chunks(`<pre class=language-c>${code.join('\n')}</pre>`, 200);
    assert.ok(parts.length > 2);
    for (const { markdown } of parts) assert.match(markdown, /^```c\n {2}line \d+\n[^]*\n```\n$/);
    assert.deepEqual(
      parts.flatMap(({ text }) => text.split('\n')),
      code,
    );
  });

  it('divides a table at rows, its head repeated', () => {
    const rows = Array.from({ length: 40 }, (_, i) => `<tr><td>key ${i}<td>value ${i}`);
    const parts = chunks(`<table><tr><th>K<th>V${rows.join('')}</table>`, 200);
    assert.ok(parts.length > 2);
    for (const { markdown, text } of parts) {
      assert.match(markdown, /^\| K \| V \|\n\| --- \| --- \|\n\| key/);
      assert.match(text, /^K \| V\nkey \d+ \| value/);
    }
    const head = 'A very long head of a column '.repeat(4);
    for (const { markdown } of chunks(`<table><tr><th>${head}<th>V${rows.join('')}</table>`, 200).slice(1))
      assert.match(markdown, /^\|\s+\|\s+\|\n\| --- \| --- \|\n\| key/);
  });

  it('has one for each page of a document that has pages', () => {
    assert.deepEqual(
      chunks('one\n\ntwo\f\fthree\n', 1500, 'text/plain').map(({ text, page }) => [text, page]),
      [
        ['one\ntwo', 1],
        ['three', 3],
      ],
    );
  });

  it('of Markdown has its words, and the lines as they are', () => {
    const [only] = chunks('# A\n\nSee [b](c) and `d`, **e**.\n\n```js\nf\n```\n', 1500, 'text/markdown');
    assert.equal(only?.text, 'A\nSee b and d, e.\nf');
    assert.equal(only?.markdown, '# A\n\nSee [b](c) and `d`, **e**.\n\n```js\nf\n```\n');
  });

  it('keeps all others when a sentence, the footer, or every link changes', () => {
    const page = (middle: string, footer: string, target: string) =>
      Array.from(
        { length: 12 },
        (_, i) =>
          `<h2>Part ${i}</h2><p>${SENTENCE.repeat(9)}${i === 5 ? middle : ''}<a href="${target}${i}">on</a>`,
      ).join('') + `<footer>${footer}</footer>`;
    const hashes = (html: string) => new Set(chunks(html).map(({ hash }) => hash));
    const before = hashes(page('', 'a', '/x'));
    const isNew = (hash: string) => !before.has(hash);
    assert.equal([...hashes(page('', 'b', '/y'))].filter(isNew).length, 0);
    assert.equal([...hashes(page('One more. ', 'a', '/x'))].filter(isNew).length, 1);
  });

  it('is divided as it always was: other hashes are embedded again, and stand in CHANGELOG', () => {
    const golden = JSON.parse(readFileSync(join(ROOT, 'test/text/golden-chunks.json'), 'utf8')) as Readonly<
      Record<string, string>
    >;
    for (const [what, html] of ODD_PAGES) {
      const all = chunks(`<title>Odd</title><h2>${what}</h2>${html.repeat(30)}`, 400);
      assert.equal(all.map(({ hash }) => hash.slice(0, 8)).join(' '), golden[what], what);
    }
    assert.ok(Object.keys(golden).length >= 40);
  });

  it('has all words, in order, and no piece that is longer, whatever the page', () => {
    const block = fc
      .record({
        tag: fc.constantFrom('p', 'h1', 'h2', 'h3', 'li', 'pre', 'td', 'dt', 'blockquote'),
        words: fc.array(
          fc.constantFrom('one', 'two.', 'three!', 'x'.repeat(50), '|', '日本語', '\u{1f600}'),
          { minLength: 1, maxLength: 120 },
        ),
      })
      .map(({ tag, words }) =>
        tag === 'td'
          ? `<table><tr><td>${words.join('<td>')}<tr><td>a<td>b</table>`
          : `<${tag}>${words.join(' ')}</${tag}>`,
      );
    fc.assert(
      fc.property(fc.array(block, { maxLength: 12 }), fc.integer({ min: 200, max: 1000 }), (blocks, size) => {
        const html = blocks.join('');
        const page = markdownOf(Buffer.from(html), { mimetype: 'text/html', charset: 'utf-8' }, 'readable');
        const all = chunks(html, size);
        for (const { text, markdown } of all) {
          assert.ok(text.length <= size, `${text.length} of ${size}`);
          assert.doesNotMatch(text, /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/);
          assert.ok(treeOf(markdown));
        }
        const words = all.map(({ markdown }) => treeOf(markdown)).flatMap(tree => wordsOf(plain(tree)));
        assert.equal(words.join(''), wordsOf(page?.plain ?? '').join(''), html);
      }),
      { numRuns: amount(20, 60) },
    );
  });
});

function plain({ value, children }: ReturnType<typeof treeOf>): string {
  if (value === '<br>') return ' ';
  return value ?? (children ?? []).map(plain).join(' ');
}
