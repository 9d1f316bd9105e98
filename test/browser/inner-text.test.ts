import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { chromium, type Browser, type Page } from 'playwright-core';
import { textOf } from '../../src/text/content.js';
import { TestSite } from '../support/site.js';
import { ODD_PAGES } from './odd-pages.js';

const CHROMIUM = '/usr/bin/chromium';
/**
 * Pages of Debian's documentation, by package: written by hand, by Sphinx, DocBook, AsciiDoc, javadoc, in a dozen
 * languages.
 */
const REAL_PAGES = [
  { tree: '/usr/share/doc/apache2-doc/manual', from: 'apache2-doc', pages: 40 },
  { tree: '/usr/share/doc/git/html', from: 'git-doc', pages: 20 },
  { tree: '/usr/share/doc/sqlite3', from: 'sqlite3-doc', pages: 40 },
  { tree: '/usr/share/doc/postgresql-doc-15/html', from: 'postgresql-doc-15', pages: 25 },
  { tree: '/usr/share/doc/debian-policy', from: 'debian-policy', pages: 5 },
  { tree: '/usr/share/doc/imagemagick-6-common/html', from: 'imagemagick-6-doc', pages: 20 },
  { tree: '/usr/share/doc/linux-doc-6.1', from: 'linux-doc', pages: 25 },
  { tree: '/usr/share/doc/openjdk-17-jre-headless/api', from: 'openjdk-17-doc', pages: 25 },
] as const;
/** Of each tree, of a hundred. */
const PERCENT = Number(process.env['LCC_TEST_SHOWN_PERCENT'] ?? 25);
/** The time it takes is that of the largest. */
const MAX_BYTES = 100_000;

const missing = [
  ...(existsSync(CHROMIUM) ? [] : ['chromium']),
  ...REAL_PAGES.filter(({ tree }) => !existsSync(tree)).map(({ from }) => from),
];
const skip =
  missing.length > 0 && process.env['CI'] !== 'true' && `no ${missing.join(', ')} (packages of Debian)`;

describe('the whole text of a page', { skip }, () => {
  let browser: Browser;
  let site: TestSite;

  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    site = await TestSite.listen(({ url }, response) => {
      response.setHeader('Content-Type', 'text/html');
      // Nothing but the document, as an index has nothing else.
      response.setHeader('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'");
      response.end(readFileSync(decodeURIComponent(url ?? '')));
    });
  });
  after(async () => {
    await browser?.close();
    site?.close();
  });

  const newPage = async (): Promise<Page> => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    return context.newPage();
  };
  const shownOn = (page: Page) =>
    page.evaluate<string>(
      'for (const each of document.querySelectorAll("details")) each.open = true; document.body.innerText',
    );

  it('has the words that Chromium shows of 61 odd pages, in order', async () => {
    const page = await newPage();
    for (const [what, html] of ODD_PAGES) {
      await page.setContent(html);
      const shown = await shownOn(page);
      const text = textOf(Buffer.from(html), { mimetype: 'text/html', charset: 'utf-8' })?.text ?? '';
      assert.deepEqual(wordsOf(text), wordsOf(shown), `${what}: ${html}`);
    }
  });

  it('has 99 % of the words that Chromium shows of real pages, in order, and the readable text of none is empty', async () => {
    const files = REAL_PAGES.flatMap(({ tree, pages }) =>
      spread(pagesBelow(tree), Math.ceil((pages * PERCENT) / 100)),
    );
    assert.ok(files.length >= 2 * PERCENT, `${files.length} files`);
    let words = 0;
    let common = 0;
    const compare = async (page: Page, file: string) => {
      await page.goto(site.urlOf(encodeURI(file)), { waitUntil: 'domcontentloaded' });
      const shown = wordsOf(await shownOn(page));
      const bytes = readFileSync(file);
      const text = wordsOf(textOf(bytes, { mimetype: 'text/html' })?.text ?? '');
      const most = Math.max(text.length, shown.length);
      const both = commonOf(text, shown);
      words += most;
      common += both;
      assert.ok(both >= 0.97 * most, `${file}: ${both} of ${most} words`);
      const readable = textOf(bytes, { mimetype: 'text/html' }, 'readable')?.text ?? '';
      assert.ok(readable !== '' || most === 0, `${file}: nothing readable`);
    };
    const waiting = files.values();
    const worker = async (page: Page) => {
      for (const file of waiting) await compare(page, file);
    };
    await Promise.all([worker(await newPage()), worker(await newPage())]);
    assert.ok(words > 1000 * PERCENT, `${words} words`);
    assert.ok(common >= 0.99 * words, `${common} of ${words} words`);
  });
});

/** Links of the tree are followed; each file once. */
function pagesBelow(tree: string): string[] {
  const files = readdirSync(tree, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.html'))
    .map(name => realpathSync(join(tree, name)))
    .filter(file => statSync(file).isFile() && statSync(file).size <= MAX_BYTES);
  return [...new Set(files)].sort();
}

function spread(files: readonly string[], count: number): string[] {
  return Array.from({ length: count }, (_, i) => files[Math.floor((i * files.length) / count)] ?? '');
}

/** Texts as they are compared: letters that are the same in a search are equal, and soft hyphens do not count. */
function wordsOf(text: string): string[] {
  const plain = text
    .replace(/[\u00ad\ufeff]/g, '')
    .normalize('NFKC')
    .toLowerCase();
  return plain.split(/\s+/).filter(word => word !== '');
}

/** Edits that are looked for at most; pages with more have nothing in common beyond their ends. */
const MAX_EDITS = 2000;

/** How many words two lists have in common, in order (Myers 1986). */
function commonOf(one: readonly string[], other: readonly string[]): number {
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start++;
  let end = 0;
  const rest = Math.min(one.length, other.length) - start;
  while (end < rest && one.at(-1 - end) === other.at(-1 - end)) end++;
  const [a, b] = [one.slice(start, one.length - end), other.slice(start, other.length - end)];
  const most = Math.min(a.length + b.length, MAX_EDITS);
  const furthest = new Int32Array(2 * most + 3);
  for (let edits = 0; edits <= most; edits++) {
    for (let k = -edits; k <= edits; k += 2) {
      const [below = 0, above = 0] = [furthest[most + k], furthest[most + k + 2]];
      let x = k === -edits || (k !== edits && below < above) ? above : below + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      furthest[most + k + 1] = x;
      if (x >= a.length && x - k >= b.length) return start + end + (a.length + b.length - edits) / 2;
    }
  }
  return start + end;
}
