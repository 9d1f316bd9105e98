/** Pages that cost what they can: time, memory and length of their Markdown and pieces, each in a process of its own. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Chunks } from '../../../src/text/chunks.js';
import { textOf } from '../../../src/text/content.js';
import { markdownOf } from '../../../src/text/markdown/page.js';
import { hostilePages, isBounded } from '../../support/hostile-pages.js';
import { longIt } from '../../support/long.js';
import { wordsOf } from '../../support/markdown-judge.js';

const MB = 1024 * 1024;

describe('hostile pages', () => {
  for (const [what, html] of hostilePages(1))
    it(`of ${what}: no word is lost, and Markdown is 4 times as long and 1 MB at most`, () => {
      const bytes = Buffer.from(html());
      const page = markdownOf(bytes, { mimetype: 'text/html', url: 'https://h.example/' }, 'all');
      const words = wordsOf(textOf(bytes, { mimetype: 'text/html' })?.text ?? '');
      assert.ok(page !== undefined);
      assert.deepEqual(wordsOf(page.plain), words);
      assert.ok(page.markdown.length <= 4 * bytes.length + MB);
      for (const { text } of new Chunks(page, 1500).all()) assert.ok(text.length <= 1500);
    });

  it('of more blocks than memory is for are words alone, all of them', () => {
    const html = `<title>t</title><meta name=description content=d><h1>h</h1>${'<p>a <b>b</b>'.repeat(160_000)}`;
    const page = markdownOf(Buffer.from(html), { mimetype: 'text/html' });
    assert.deepEqual([page?.title, page?.description], ['t', 'd']);
    assert.deepEqual(wordsOf(page?.markdown ?? ''), `h${' a b'.repeat(160_000)}`.split(' '));
  });

  for (const mimetype of ['text/plain', 'text/markdown'])
    it(`of more lines than memory is for are words alone, all of them: ${mimetype}`, () => {
      const page = markdownOf(Buffer.from('# a *b*\n\n'.repeat(310_000)), { mimetype });
      assert.equal(wordsOf(page?.plain ?? '').length, 620_000);
      assert.ok((page?.units[0]?.lines.length ?? 0) < 5000);
    });

  it('in a process of its own takes bounded time and memory', () =>
    isBounded('<tr><td>a<td>b'.repeat(20_000)));

  for (const [what, html] of hostilePages(1000))
    longIt(`of thousands of ${what} take 10 s at most, and memory for what is marked`, async () =>
      isBounded(html()),
    );
});
