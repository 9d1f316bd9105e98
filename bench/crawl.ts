/**
 * Crawls: pages into links, a tree of real documentation against wget, wget2 and Scrapy, many sites at a time, a scan of many
 * pages, and lists of urls. Sizes: LCC_BENCH_PAGES, LCC_BENCH_TREE, LCC_BENCH_SITE_PAGES, LCC_BENCH_SCAN_ROWS, LCC_BENCH_URLS;
 * LCC_BENCH_PART=pages|tree|sites|scan|lists runs one of them.
 */
import type { Outcome } from './harness.js';
import { benchLists } from './crawl/lists.js';
import { benchPages } from './crawl/pages.js';
import { benchScan } from './crawl/scan.js';
import { benchSites } from './crawl/sites.js';
import { benchTree } from './crawl/tree.js';

const PARTS: Record<string, () => Outcome[] | Promise<Outcome[]>> = {
  pages: benchPages,
  tree: benchTree,
  sites: benchSites,
  scan: benchScan,
  lists: benchLists,
};

export async function bench(): Promise<Outcome[]> {
  const part = process.env['LCC_BENCH_PART'];
  const outcomes: Outcome[] = [];
  for (const [name, run] of Object.entries(PARTS))
    if (part === undefined || part === name) outcomes.push(...(await run()));
  if (outcomes.length === 0)
    throw new Error(`LCC_BENCH_PART=${part}: there are ${Object.keys(PARTS).join(', ')}`);
  return outcomes;
}
