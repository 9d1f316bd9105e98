/** 64 sites crawled at a time, each at an address of its own, and what a url that is known costs in lcc.db. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { treeOf, writePages } from '../../test/support/crawl-site.js';
import { freePort } from '../../test/support/free-port.js';
import { startSite } from '../../test/support/nginx.js';
import { removeAtEnd, requireProgram, type Outcome } from '../harness.js';
import { Crawler } from './service.js';

const SITES = 64;
/** Of each site, of 10 KB. */
const PAGES = Number(process.env['LCC_BENCH_SITE_PAGES'] ?? 600);
const PAGE_BYTES = 10_000;
const FIRST_PID = 1000;
/** Five times what Heritrix reached. */
const LEAST_PER_SECOND = 930;
const MOST_BYTES = 250;

export async function benchSites(): Promise<Outcome[]> {
  requireProgram('nginx', 'nginx-light');
  const scratch = mkdtempSync(join(tmpdir(), 'lcc-bench-sites-'));
  const docroot = join(scratch, 'docs');
  const pages = Object.entries(treeOf(PAGES));
  writePages(
    docroot,
    Object.fromEntries(
      pages.map(([path, text]) => [
        path,
        path.endsWith('.html')
          ? `${text}<a href="/lost/${path}">lost</a>${'<p>words '.repeat(PAGE_BYTES / 9)}`
          : text,
      ]),
    ),
  );
  const port = await freePort();
  const site = await startSite(docroot, join(scratch, 'nginx'), {
    http: `server { listen 0.0.0.0:${port} backlog=4096; access_log off; root "${docroot}"; }`,
  });
  const home = join(scratch, 'home');
  const crawler = await Crawler.start(home, ['--assets']);
  try {
    const sites = Array.from({ length: SITES }, (_, n) => `http://127.0.1.${n + 1}:${port}/`);
    writeFileSync(join(home, 'hosts.txt'), sites.join('\n'));
    crawler.run(`lccpidb add --sites=hosts.txt --pid-from=${FIRST_PID} --spider=yes --pace=0`);
    const seconds = await crawler.crawl(sites.map(url => `${url}tree/0/page-0.html`));
    const rssBytesOf = await crawler.lcc.rssBytes();
    await crawler.stop();
    const { held, known, heldBytes, knownBytes } = costOf(join(home, 'lcc.db'));
    if (held !== SITES * pages.length) throw new Error(`${held} of ${SITES * pages.length} pages are held`);
    // Of every site the link that all pages have, and one of each page.
    const lost = SITES * (PAGES + 1);
    if (known !== lost) throw new Error(`${known} urls are known not to be there, not ${lost}`);
    return [
      {
        work: `Crawl of ${SITES} sites at a time, ${pages.length} pages of each, and ${PAGES + 1} links that lead nowhere`,
        unit: 'urls',
        rounds: 1,
        lines: [
          {
            name: 'lcc',
            ratePerSecond: (held + known) / seconds,
            maxRssBytes: Math.max(...Object.values(rssBytesOf)),
            rssBytesOf,
          },
        ],
        bounds: [
          {
            what: 'urls asked for in a second',
            value: (held + known) / seconds,
            atLeast: LEAST_PER_SECOND,
            unit: 'urls',
          },
          {
            what: 'lcc.db for each url that is known and not held, beside its text',
            value: knownBytes,
            atMost: MOST_BYTES,
            unit: 'bytes',
          },
        ],
        notes: [
          `a page that is held costs ${Math.round(heldBytes)} bytes beside the text of its url: md5, times, validators, place of its file, their indexes`,
        ],
      },
    ];
  } finally {
    await crawler.stop();
    await site.stop();
    removeAtEnd(scratch);
  }
}

/** Bytes of lcc.db a url, with its indexes, without the text of the url. */
function costOf(path: string): { held: number; known: number; heldBytes: number; knownBytes: number } {
  const db = openReadOnly(path);
  try {
    const number = (sql: string) => Number(db.prepare(sql).pluck().get());
    const cost = (table: string) => {
      const size = number(
        `SELECT sum(pgsize) FROM dbstat JOIN sqlite_schema USING (name) WHERE tbl_name = '${table}' AND aggregate = TRUE`,
      );
      const count = number(`SELECT count(*) FROM ${table}`);
      return { count, bytes: (size - number(`SELECT sum(length(curl)) FROM ${table}`)) / count };
    };
    const [held, known] = [cost('lccurl'), cost('known')];
    return { held: held.count, known: known.count, heldBytes: held.bytes, knownBytes: known.bytes };
  } finally {
    db.close();
  }
}
