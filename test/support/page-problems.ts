/** What is wrong with a page for people: found by axe, and by its width. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');

interface Violation {
  id: string;
  nodes: { target: string[] }[];
}

/**
 * What axe finds in light and dark, wide and narrow, and whether the page is wider than its window.
 * @param url where the page is taken to be; style sheets are loaded from there
 */
export async function pageProblems(browser: Browser, url: string, html: string): Promise<string[]> {
  const found: string[] = [];
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 320],
  ] as const) {
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } });
    await page.route(url, route => route.fulfill({ body: html, contentType: 'text/html' }));
    await page.goto(url);
    await page.evaluate(AXE);
    const violations = (await page.evaluate(
      'axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then(({ violations }) => violations)',
    )) as Violation[];
    for (const { id, nodes } of violations)
      found.push(`${colorScheme} ${width}: ${id} ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    if (Number(overflow) > 0) found.push(`${colorScheme} ${width}: ${String(overflow)} px too wide`);
    await page.close();
  }
  return found;
}
