/**
 * sitemap2url on a sitemap as large as it takes: time against xmllint, which only parses it, and memory as the number of urls
 * grows. The times of all pages differ, as those of real sites do.
 */
import { closeSync, existsSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../test/support/tree.js';
import { compare, requireProgram, shell, timeShell, type Outcome } from '../harness.js';

const BIN = join(ROOT, 'bin');
const URLS = Number(process.env['LCC_BENCH_URLS'] ?? 1_000_000);
/** Sitemaps of that many urls for the memory. */
const LARGE = 4;
const ROUNDS = 5;
/** Ours may take that many times the time of xmllint. */
const MOST_TIMES = 3;
const MB = 1024 * 1024;

export async function benchLists(): Promise<Outcome[]> {
  requireProgram('/usr/bin/time', 'time');
  requireProgram('xmllint', 'libxml2-utils');
  const dir = join(tmpdir(), `lcc-bench-lists-${URLS}`);
  mkdirSync(dir, { recursive: true });
  const files = Array.from({ length: LARGE }, (_, n) => join(dir, `sitemap-${n}.xml`));
  for (const [n, file] of files.entries()) if (!existsSync(file)) writeSitemap(file, n);
  const [file = ''] = files;
  const outcome = await compare({
    work: `sitemap2url: a sitemap of ${URLS.toLocaleString('en-US')} urls`,
    amount: URLS,
    unit: 'urls',
    ours: shell('sitemap2url', `${BIN}/sitemap2url -q ${file}`),
    peers: [
      {
        contender: shell('xmllint --stream', `xmllint --stream --huge --noout ${file}`),
        atLeast: 1 / MOST_TIMES,
      },
    ],
    rounds: ROUNDS,
  });
  const { maxRssBytes = NaN } = timeShell(`${BIN}/sitemap2url -q ${files.join(' ')}`);
  outcome.bounds.push({
    what: `largest resident set, ${LARGE} such sitemaps of other urls`,
    value: maxRssBytes / MB,
    atMost: 250,
    unit: 'MB',
  });
  return [outcome];
}

function writeSitemap(path: string, part: number): void {
  const half = `${path}.half`;
  const fd = openSync(half, 'w');
  let text =
    '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n';
  for (let i = 0; i < URLS; i++) {
    const lastmod = new Date(Date.UTC(2020, 0, 1) + ((i * 7919) % 190_000_000) * 1000)
      .toISOString()
      .slice(0, 19);
    text +=
      `<url>\n<loc>https://www.example.org/articles-${part}/${i % 1000}/page-${i}.html</loc>\n` +
      `<lastmod>${lastmod}+00:00</lastmod>\n<changefreq>weekly</changefreq>\n<priority>0.5</priority>\n</url>\n`;
    if (text.length > MB) {
      writeSync(fd, text);
      text = '';
    }
  }
  writeSync(fd, `${text}</urlset>\n`);
  closeSync(fd);
  renameSync(half, path);
}
