/** What is wrong with a page for people: found by axe, and by its width. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const ALL = {
  type: 'tag',
  values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
};
/** What depends on colours and widths; all else is the same of one page. */
const OF_THE_LOOK = {
  type: 'rule',
  values: ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size'],
};
const LOOKS = [
  ['dark', 320, ALL],
  ['light', 768, OF_THE_LOOK],
  ['light', 1280, OF_THE_LOOK],
] as const;

interface Violation {
  id: string;
  nodes: { target: string[] }[];
}

/** What axe finds in a page as it is shown now, and whether it is wider than its window. */
export async function problemsOf(page: Page, rules: typeof ALL = ALL): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE);
  const violations = (await page.evaluate(
    `axe.run({ runOnly: ${JSON.stringify(rules)} }).then(({ violations }) => violations)`,
  )) as Violation[];
  const found = violations.map(
    ({ id, nodes }) => `${id} ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
  );
  const overflow = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
  return overflow > 0 ? [...found, `${overflow} px too wide`] : found;
}

/**
 * The problems of pages that were seen, in light and dark, wide and narrow.
 * @param url where they are taken to be; style sheets are loaded from there
 * @param seen html by what it is called
 */
export async function pageProblems(
  browser: Browser,
  url: string,
  seen: ReadonlyMap<string, string>,
): Promise<string[]> {
  const page = await browser.newPage({ reducedMotion: 'reduce' });
  await page.addInitScript(AXE);
  const found: string[] = [];
  let html = '';
  await page.route(url, route => route.fulfill({ body: html, contentType: 'text/html' }));
  for (const [name, text] of seen) {
    html = text;
    await page.goto(url);
    for (const [colorScheme, width, rules] of LOOKS) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      for (const problem of await problemsOf(page, rules))
        found.push(`${name} ${colorScheme} ${width}: ${problem}`);
    }
  }
  await page.close();
  return found;
}
