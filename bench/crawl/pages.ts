/** lcclinks on stored pages of 20 KB with 100 links each, and on the largest pages that it reads. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SETTINGS } from '../../src/config/settings/index.js';
import { formatAttributes } from '../../src/lib/xml/escape.js';
import { STREAM_END, streamHead } from '../../src/wire/url-stream.js';
import { ROOT } from '../../test/support/tree.js';
import { median, requireProgram, timeShell, type Outcome } from '../harness.js';

const PAGES = Number(process.env['LCC_BENCH_PAGES'] ?? 20_000);
const PAGE_BYTES = 20_000;
const LINKS = 100;
/** What every page of a site has: its head and foot. The others lead to twice as many pages as there are. */
const MENU_LINKS = 30;
const LARGE_PAGES = 8;
const ROUNDS = 3;
const LEAST_PER_SECOND = 1500;
const MOST_MB = 150;
const SITE = 'https://www.example.org/';
const MB = 1024 * 1024;

export function benchPages(): Outcome[] {
  requireProgram('/usr/bin/time', 'time');
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-pages-'));
  try {
    const env = { ...process.env, LCC_HOME: join(dir, 'home'), LCC_CONFIG: '' };
    timeShell(`${ROOT}/bin/lccpidb add --pid=1 --root=${SITE} --spider=yes`, { env });
    const rows = writePages(dir, 'rows', PAGES, pageOf);
    const large = writePages(dir, 'large', LARGE_PAGES, largePageOf);
    const run = (from: string) => timeShell(`${ROOT}/bin/lcclinks -q <${from}`, { env });
    const samples = Array.from({ length: ROUNDS + 1 }, () => run(rows)).slice(1);
    const rateOf = (of: (sample: ReturnType<typeof run>) => number | undefined) =>
      PAGES / median(samples.map(sample => of(sample) ?? NaN));
    const rss = (list: typeof samples) => Math.max(...list.map(({ maxRssBytes = NaN }) => maxRssBytes));
    return [
      {
        work: `lcclinks: ${PAGES.toLocaleString('en-US')} pages of 20 KB with ${LINKS} links, ${MENU_LINKS} of them on every page`,
        unit: 'pages',
        rounds: ROUNDS,
        lines: [
          { name: 'lcclinks', ratePerSecond: rateOf(({ seconds }) => seconds), maxRssBytes: rss(samples) },
        ],
        bounds: [
          {
            what: 'pages a second of a processor',
            value: rateOf(({ cpuSeconds }) => cpuSeconds),
            atLeast: LEAST_PER_SECOND,
            unit: 'pages',
          },
          { what: 'largest resident set', value: rss(samples) / MB, atMost: MOST_MB, unit: 'MB' },
          {
            what: `the same, ${LARGE_PAGES} pages of links.max_page_bytes that are nothing but links`,
            value: rss([run(large)]) / MB,
            atMost: MOST_MB,
            unit: 'MB',
          },
        ],
      },
    ];
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** Pages as they are stored, and the rows that lccq has of them. @returns the file of the rows */
function writePages(dir: string, name: string, count: number, contentOf: (n: number) => string): string {
  const folder = join(dir, `${name}.store`);
  mkdirSync(folder);
  const rows = [streamHead({ from: 'lccq' })];
  for (let n = 0; n < count; n++) {
    const content = contentOf(n);
    const file = join(folder, String(n));
    writeFileSync(file, content);
    const md5 = createHash('md5').update(content).digest('hex');
    const url = {
      curl: `${SITE}${name}/${n}.html`,
      mimetype: 'text/html',
      md5,
      len: Buffer.byteLength(content),
    };
    rows.push(`<url${formatAttributes({ ...url, pid: 1, file, hops: 2, status: 'ok' })}/>\n`);
  }
  const path = join(dir, name);
  writeFileSync(path, rows.join('') + STREAM_END);
  return path;
}

function pageOf(n: number): string {
  const links = Array.from({ length: LINKS }, (_, i) =>
    i < MENU_LINKS
      ? `<li class="menu"><a class="item" href="/menu/part-${i}/">Part ${i}</a></li>`
      : `<p>More of it is on <a href="../articles/${(n * (LINKS - MENU_LINKS) + i) % (2 * PAGES)}/page.html#text">another page</a>.</p>`,
  ).join('\n');
  const text = `<!doctype html><html><head><title>Page ${n}</title></head><body>\n${links}\n<p>`;
  return `${text}${'Words of the page that nobody links to, <b>with</b> a tag. '.repeat(400)}`.slice(
    0,
    PAGE_BYTES,
  );
}

function largePageOf(n: number): string {
  const link = (i: number) => `<a href="/large/${n}/${i}.html">x</a>\n`;
  const most = SETTINGS['links.max_page_bytes'].default;
  const links = Array.from({ length: Math.floor(most / link(1_000_000).length) }, (_, i) => link(i));
  return links.join('');
}
