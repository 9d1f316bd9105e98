/**
 * Pages as Markdown and in pieces: processor time against other converters and against `--text`, how much an independent
 * parser finds again, and how few hashes are new when a page changes. Pages: documentation of Debian.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import TurndownService from 'turndown';
import { gfm } from 'turndown-plugin-gfm';
import { Chunks, DEFAULT_CHUNK_SIZE } from '../src/text/chunks.js';
import { textOf } from '../src/text/content.js';
import { markdownOf, type MarkdownPage } from '../src/text/markdown/page.js';
import {
  commonCount,
  foundInHtml,
  foundInMarkdown,
  wordsOf,
  wordsOfMarkdown,
} from '../test/support/markdown-judge.js';
import { compare, type Bound, type Outcome, type Sample } from './harness.js';

export const TREES = [
  'postgresql-doc-15/html',
  'git/html',
  'apache2-doc/manual/en',
  'linux-doc-6.1/html',
].map(tree => `/usr/share/doc/${tree}`);
const PAGES = 240;
const JUDGED = 80;
const MAX_BYTES = 300_000;
const HTML = { mimetype: 'text/html', charset: 'utf-8' };
const SENTENCE = 'One more sentence stands here. ';

export async function bench(): Promise<Outcome[]> {
  const missing = TREES.filter(tree => !existsSync(tree));
  if (missing.length > 0)
    throw new Error(`${missing.join(', ')}: install postgresql-doc-15 git-doc apache2-doc linux-doc`);
  const files = TREES.flatMap(tree => spread(pagesBelow(tree), PAGES / TREES.length));
  const pages = files.map(file => readFileSync(file));
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-markdown-'));
  try {
    const list = join(dir, 'files');
    writeFileSync(list, files.join('\n'));
    const turndown = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced' });
    turndown.use(gfm);
    const speed = await compare({
      work: `Markdown of ${pages.length} pages of documentation (processor time)`,
      amount: pages.reduce((sum, page) => sum + page.length, 0) / 1e6,
      unit: 'MB',
      ours: {
        name: 'lccq --markdown',
        run: () => cpuOf(() => pages.forEach(page => void markdown(page).markdown)),
      },
      peers: [
        {
          contender: {
            name: 'turndown + gfm',
            run: () => cpuOf(() => pages.forEach(page => turndown.turndown(page.toString()))),
            once: true,
          },
          atLeast: 4,
        },
        {
          contender: { name: 'html2text (Python)', run: () => html2text(list), once: true },
          atLeast: 2.5,
        },
        {
          contender: {
            name: 'lccq --text',
            run: () => cpuOf(() => pages.forEach(page => textOf(page, HTML, 'readable'))),
          },
          atLeast: 1 / 2.2,
        },
      ],
      rounds: 3,
    });
    return [{ ...speed, bounds: [...(speed.bounds ?? []), ...judged(files), ...hashes(pages)] }];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function markdown(page: Buffer | string, url = 'https://docs.example/page.html'): MarkdownPage {
  const found = markdownOf(Buffer.from(page), { ...HTML, url });
  if (found === undefined) throw new Error('a page without text');
  return found;
}

function cpuOf(work: () => void): Sample {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return { seconds: (user + system) / 1e6 };
}

function html2text(list: string): Sample {
  const script = `import html2text, time
pages = [open(f, encoding="utf-8", errors="replace").read() for f in open(${JSON.stringify(list)}).read().split("\\n")]
before = time.process_time()
for page in pages: html2text.HTML2Text().handle(page)
print(time.process_time() - before)`;
  const { stdout, stderr, status } = spawnSync('/usr/bin/python3', ['-c', script], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`html2text: ${stderr} (python3-html2text)`);
  return { seconds: Number(stdout) };
}

/** What an independent parser finds again, in parts of a hundred. */
function judged(files: readonly string[]): Bound[] {
  const sums = { words: [0, 0], pre: [0, 0], tables: [0, 0], links: [0, 0], headings: [0, 0] };
  const add = (kind: keyof typeof sums, same: number, all: number) => {
    sums[kind] = [(sums[kind][0] ?? 0) + same, (sums[kind][1] ?? 0) + all];
  };
  for (const file of spread(files, JUDGED)) {
    const bytes = readFileSync(file);
    const url = `https://docs.example${file}`;
    const words = wordsOf(textOf(bytes, HTML, 'readable')?.text ?? '');
    const there = wordsOfMarkdown(markdown(bytes, url).markdown);
    add('words', inOrder(words, there), words.length);
    const all = foundInMarkdown(markdownOf(bytes, { ...HTML, url }, 'all')?.markdown ?? '');
    const wanted = foundInHtml(bytes.toString(), url);
    for (const kind of ['pre', 'tables', 'links', 'headings'] as const)
      add(kind, commonCount(wanted[kind], all[kind]), wanted[kind].length);
  }
  const floors = { words: 99.9, pre: 98, tables: 98, links: 98.5, headings: 98 };
  return Object.entries(floors).map(([kind, atLeast]) => {
    const [same = 0, all = 0] = sums[kind as keyof typeof sums];
    return {
      what: `${kind} found again by an independent parser (of ${all})`,
      value: (100 * same) / all,
      unit: '%',
      atLeast,
    };
  });
}

function inOrder(words: readonly string[], there: readonly string[]): number {
  let same = 0;
  while (same < words.length && words[same] === there[same]) same++;
  return same === words.length && same === there.length
    ? same
    : commonCount(words, there) - Math.abs(words.length - there.length);
}

/** How many pieces are embedded again. */
function hashes(pages: readonly Buffer[]): Bound[] {
  const hashesOf = (page: string | Buffer) =>
    [...new Chunks(markdown(page), DEFAULT_CHUNK_SIZE).all()].map(({ hash }) => hash);
  const known = new Set(pages.flatMap(hashesOf));
  const newOf = (change: (html: string) => string) =>
    new Set(pages.flatMap(page => hashesOf(change(page.toString()))).filter(hash => !known.has(hash))).size;
  const footer = newOf(html => html.replace(/<\/body>/i, '<footer>Another footer, of today</footer></body>'));
  const targets = newOf(html => html.replaceAll(/(<a\b[^<>]*\shref=")(?!#|mailto)/g, '$1../other/'));
  const sentence = newOf(html => {
    const paragraphs = [...html.matchAll(/<p>(?=[A-Z])/g)];
    const at = paragraphs[Math.floor(paragraphs.length / 2)]?.index;
    return at === undefined ? html : `${html.slice(0, at + 3)}${SENTENCE}${html.slice(at + 3)}`;
  });
  return [
    { what: 'new hashes when every page has another footer', value: footer, unit: 'pieces', atMost: 0 },
    { what: 'new hashes when all targets of links change', value: targets, unit: 'pieces', atMost: 0 },
    {
      what: 'new hashes for a sentence in each page',
      value: sentence / pages.length,
      unit: 'a page',
      atMost: 1.3,
    },
  ];
}

export function pagesBelow(tree: string): string[] {
  return readdirSync(tree, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.html'))
    .sort()
    .map(name => join(tree, name))
    .filter(file => statSync(file).isFile() && statSync(file).size <= MAX_BYTES);
}

export function spread<T>(all: readonly T[], count: number): T[] {
  return Array.from(
    { length: Math.min(count, all.length) },
    (_, i) => all[Math.floor((i * all.length) / count)] as T,
  );
}
