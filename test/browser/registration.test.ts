/** A site is registered in Chromium without JavaScript; every page of that is looked at by axe, light and dark, wide and narrow. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { chromium, type Browser, type Page } from 'playwright-core';
import { noNginx } from '../support/nginx.js';
import { startRegistration, type RegistrationScene } from '../support/registration.js';
import { until } from '../support/until.js';

const CHROMIUM = '/usr/bin/chromium';
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');
const skip = noNginx || (!existsSync(CHROMIUM) && process.env['CI'] !== 'true' && 'no chromium');

interface Violation {
  id: string;
  nodes: { target: string[] }[];
}

describe('registration in a browser', { skip }, () => {
  let browser: Browser;
  let scene: RegistrationScene;
  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    scene = await startRegistration('mode = "open"\n');
  });
  after(async () => {
    await browser?.close();
    await scene?.end();
  });

  /** What axe finds wrong with the page as it is, and whether it is wider than its window. */
  async function problemsOf(html: string): Promise<string[]> {
    const found: string[] = [];
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 320],
    ] as const) {
      const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } });
      await page.route(`${scene.server}looked-at`, route =>
        route.fulfill({ body: html, contentType: 'text/html' }),
      );
      await page.goto(`${scene.server}looked-at`);
      await page.evaluate(AXE);
      const violations = (await page.evaluate(
        'axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then(({ violations }) => violations)',
      )) as Violation[];
      for (const { id, nodes } of violations)
        found.push(
          `${colorScheme} ${width}: ${id} ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
        );
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      if (Number(overflow) > 0) found.push(`${colorScheme} ${width}: ${String(overflow)} px too wide`);
      await page.close();
    }
    return found;
  }

  it('needs no JavaScript, has nothing that axe complains of, and ends with a line for cron that delivers', async () => {
    const { lcc, site, server } = scene;
    writeFileSync(join(site.docroot, 'index.html'), '<p>seen');
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page: Page = await context.newPage();
    const said: string[] = [];
    page.on('console', message => said.push(message.text()));
    const pages: string[] = [];
    const look = async () => void pages.push(await page.content());

    await page.goto(server);
    await look();
    await page.click('a.button');
    await look();
    await page.fill('#url', `${site.url}docs`);
    await page.click('button');
    assert.match((await page.textContent('[role=alert]')) ?? '', /The address is not that of a directory/);
    await look();
    await page.fill('#url', site.url);
    await page.click('button');
    await look();
    const [password = '', secret = ''] = await page
      .locator('.note dd.mono')
      .allTextContents()
      .then(all => all.slice(1));
    const name = (await page.textContent('ol.steps code')) ?? '';
    writeFileSync(join(site.docroot, name), secret);
    writeFileSync(join(lcc.dir, '.lcc-password'), `${password}\n`, { mode: 0o600 });
    await page.click('button:text-is("It is there")');
    await until('the page says that it is registered', async () =>
      /is registered/.test((await page.textContent('.state')) ?? ''),
    );
    await look();
    const line = (await page.textContent('pre')) ?? '';
    const command = line
      .replace(/^\S+ \S+ \S+ \S+ \S+ PATH=[^;]+; /, '')
      .replaceAll('\\%', '%')
      .replace('/var/www', site.docroot);
    await lcc.run(`HOME=${lcc.dir}; ${command}`);
    await lcc.idle();
    assert.match((await lcc.holdings()).rows.join(), /^index\.html /);
    assert.deepEqual(
      said.filter(text => !text.includes('400 (Bad Request)') && !text.includes('404')),
      [],
    );

    for (const [i, html] of pages.entries()) assert.deepEqual(await problemsOf(html), [], `page ${i + 1}`);
  });
});
