/** Pages that cost what they can: time, memory and length of their Markdown and pieces, each in a process of its own. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Chunks } from '../../../src/text/chunks.js';
import { textOf } from '../../../src/text/content.js';
import { markdownOf } from '../../../src/text/markdown/page.js';
import { hostilePages } from '../../support/hostile-pages.js';
import { longIt } from '../../support/long.js';
import type { Peak } from '../../support/markdown-peak.js';
import { wordsOf } from '../../support/markdown-judge.js';

const MB = 1024 * 1024;
const CPU_MS = 10_000;
/** What marks and blocks may take, whatever the page (page-marks.ts), with what V8 has not yet given back of it. */
const MARKS_BYTES = 640 * MB;

function peakOf(kind: 'text' | 'markdown', html: string): Peak {
  const program = join(import.meta.dirname, '../../support/markdown-peak.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, kind], {
    input: html,
    encoding: 'utf8',
  });
  assert.equal(status, 0, `${kind}: ${stderr}`);
  return JSON.parse(stdout) as Peak;
}

function isBounded(html: string): void {
  const text = peakOf('text', html);
  const { length, cpuMs, rssBytes } = peakOf('markdown', html);
  assert.ok(cpuMs <= CPU_MS, `${cpuMs} ms`);
  const most = text.rssBytes + 4 * html.length + MARKS_BYTES;
  assert.ok(rssBytes <= most, `${rssBytes} bytes of memory, at most ${most}`);
  assert.ok(length <= 4 * html.length + MB, `${length} of ${html.length}`);
}

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
    assert.deepEqual(wordsOf(page?.markdown ?? ''), [
      'h',
      ...Array<string[]>(160_000).fill(['a', 'b']).flat(),
    ]);
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
