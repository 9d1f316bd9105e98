/** What is wrong with a page for people: found by axe, and by its width. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const LOOKS = [
  ['light', 1280],
  ['dark', 320],
] as const;

interface Violation {
  id: string;
  nodes: { target: string[] }[];
}

/** What axe finds in a page as it is shown now, and whether it is wider than its window. */
export async function problemsOf(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE);
  const violations = (await page.evaluate(
    `axe.run({ runOnly: ${JSON.stringify(RULES)} }).then(({ violations }) => violations)`,
  )) as Violation[];
  const found = violations.map(
    ({ id, nodes }) => `${id} ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
  );
  const overflow = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
  return overflow > 0 ? [...found, `${overflow} px too wide`] : found;
}

/**
 * The problems of pages that were seen, in light and dark, wide and narrow; both at the same time.
 * @param url where they are taken to be; style sheets are loaded from there
 * @param seen html by what it is called
 */
export async function pageProblems(
  browser: Browser,
  url: string,
  seen: ReadonlyMap<string, string>,
): Promise<string[]> {
  const found = await Promise.all(
    LOOKS.map(([scheme, width]) => problemsIn(browser, url, seen, scheme, width)),
  );
  return found.flat();
}

async function problemsIn(
  browser: Browser,
  url: string,
  seen: ReadonlyMap<string, string>,
  colorScheme: 'light' | 'dark',
  width: number,
): Promise<string[]> {
  const page = await browser.newPage({
    colorScheme,
    viewport: { width, height: 800 },
    reducedMotion: 'reduce',
  });
  const found: string[] = [];
  let html = '';
  await page.route(url, route => route.fulfill({ body: html, contentType: 'text/html' }));
  for (const [name, text] of seen) {
    html = text;
    await page.goto(url);
    for (const problem of await problemsOf(page)) found.push(`${name} ${colorScheme} ${width}: ${problem}`);
  }
  await page.close();
  return found;
}
