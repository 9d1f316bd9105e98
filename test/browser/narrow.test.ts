/** The style sheet on a narrow screen, in Chromium: numbers stay in their cards, and a table that is cut shows it. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { chromium, type Browser, type Page } from 'playwright-core';
import { textOf, tileOf } from '../../src/rs/pages/layout.js';
import { STYLE } from '../../src/rs/pages/style.js';

const CHROMIUM = '/usr/bin/chromium';
const skip = !existsSync(CHROMIUM) && process.env['CI'] !== 'true' && 'no chromium';

describe('at 320 px', { skip }, () => {
  let browser: Browser;
  let page: Page;
  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    page = await browser.newPage({ viewport: { width: 320, height: 480 } });
  });
  after(() => browser?.close());

  const show = (body: string) =>
    page.setContent(
      `<!doctype html><style>${STYLE}</style><body><main id="content" class="inner">${body}</main>`,
    );

  it('a number of nine digits stays in its card, of four and of five', async () => {
    const tile = (figure: string) => textOf(tileOf('Waiting', figure, ''));
    for (const count of [4, 5]) {
      await show(`<div class="tiles">${tile('123,456,789').repeat(count - 1)}${tile('999,999')}</div>`);
      const wide = `[...document.querySelectorAll('.figure')].filter(figure => figure.scrollWidth > figure.clientWidth).length`;
      assert.equal(await page.evaluate(wide), 0, String(count));
    }
  });

  it('a table has a shadow at the side where it is cut, and none where it ends', async () => {
    const cells = (kind: string) => `<tr>${`<${kind}>a&nbsp;column</${kind}>`.repeat(9)}</tr>`;
    await show(
      `<div class="table"><table><thead>${cells('th')}</thead><tbody>${cells('td')}</tbody></table></div>`,
    );
    const box = await page.locator('.table').boundingBox();
    assert.ok(box !== null);
    // In the last row, beside its text.
    const edge = async (x: number) =>
      page.screenshot({ clip: { x, y: box.y + 0.75 * box.height, width: 4, height: 3 } });
    const [left, right] = [box.x + 2, box.x + box.width - 6];
    const [cut, whole] = [await edge(right), await edge(left)];
    assert.ok(!cut.equals(whole));
    await page.evaluate(`document.querySelector('.table').scrollLeft = 1e5`);
    assert.ok((await edge(right)).equals(whole), 'its end');
    assert.ok(!(await edge(left)).equals(whole), 'its beginning is cut');
  });
});
