/**
 * A site is registered in Chromium, without JavaScript and with it, and its provider looks after it; every page of that is looked at by
 * axe, light and dark, wide and narrow.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { chromium, type Browser, type Page } from 'playwright-core';
import { SCRIPT } from '../../src/rs/pages/script.js';
import { STYLE } from '../../src/rs/pages/style.js';
import { noNginx } from '../support/nginx.js';
import { pageProblems } from '../support/page-problems.js';
import { startRegistration, type RegistrationScene } from '../support/registration.js';
import { until } from '../support/until.js';

const CHROMIUM = '/usr/bin/chromium';
/** Of a provider; with what each begins. */
const OWN_PAGES = ['', '/errors', '/receipts', '/roots', '/terms', '/password', '/mail', '/leave'];
/** No secure context: as with any LCC over plain http. */
const NAME = 'lcc.test';
const skip = noNginx || (!existsSync(CHROMIUM) && process.env['CI'] !== 'true' && 'no chromium');

describe('registration in a browser', { skip }, () => {
  let browser: Browser;
  let scene: RegistrationScene;
  /** Html by where it was seen, and what it said. */
  const seen = new Map<string, string>();
  let account = { pid: '', password: '' };
  before(async () => {
    const args = ['--no-sandbox', `--host-resolver-rules=MAP ${NAME} 127.0.0.1`];
    browser = await chromium.launch({ executablePath: CHROMIUM, args });
    scene = await startRegistration('mode = "open"\n', {}, NAME);
  });
  after(async () => {
    await browser?.close();
    await scene?.end();
  });

  /** @returns the page, and what its console has said but for answers that were asked for */
  async function open(javaScriptEnabled: boolean): Promise<{ page: Page; said: string[] }> {
    const context = await browser.newContext({ javaScriptEnabled });
    const page = await context.newPage();
    const said: string[] = [];
    page.on('console', message => said.push(message.text()));
    return { page, said };
  }
  /** Chromium mentions a header that counts under https only. */
  const complaints = (said: readonly string[]) =>
    said.filter(text => !/status of 4\d\d|Cross-Origin-Opener-Policy/.test(text));
  /** One that is seen again takes the place of the one before: with JavaScript a page has more. */
  const keep = async (page: Page) => {
    const path = new URL(page.url()).pathname.replace(/[\w-]{20,}/, 'ID');
    const said = await page.locator('.state, [role=alert] h2').allTextContents();
    seen.set([path, ...said].join(' '), await page.content());
  };

  /** From the first page to the line for cron. @param dir of the site, `''` or `sub/` */
  async function register(page: Page, dir: string): Promise<{ pid: string; password: string; line: string }> {
    const { lcc, site, server } = scene;
    await page.goto(server);
    await keep(page);
    await page.click('main a.button');
    await page.fill('#url', `${site.url}docs`);
    await page.click('main button');
    assert.match((await page.textContent('[role=alert]')) ?? '', /The address is not that of a directory/);
    await keep(page);
    await page.fill('#url', site.url + dir);
    await page.click('main button');
    await keep(page);
    const [pid = '', password = '', secret = ''] = await page.locator('.note dd.mono').allTextContents();
    const name = (await page.textContent('ol.steps code')) ?? '';
    writeFileSync(join(site.docroot, dir, name), secret);
    writeFileSync(join(lcc.dir, '.lcc-password'), `${password}\n`, { mode: 0o600 });
    await page.click('button:text-is("It is there")');
    await until('the page says that it is registered', async () =>
      /is registered/.test((await page.textContent('.state')) ?? ''),
    );
    await keep(page);
    return { pid, password, line: (await page.textContent('pre:has-text("lcccp")')) ?? '' };
  }

  /** What the line of a crontab does. */
  async function deliver(line: string, docroot: string): Promise<void> {
    const { lcc } = scene;
    const command = line
      .replace(/^\S+ \S+ \S+ \S+ \S+ PATH=[^;]+; /, '')
      .replaceAll('\\%', '%')
      .replace('/var/www', docroot);
    await lcc.run(`HOME=${lcc.dir}; ${command}`);
    await lcc.idle();
  }

  async function login(page: Page, pid: string, password: string): Promise<void> {
    await page.goto(`${scene.server}login`);
    await page.fill('#number', pid);
    await page.fill('#password', 'wrong');
    await page.click('main button');
    await keep(page);
    await page.fill('#password', password);
    await page.click('main button');
    assert.equal(new URL(page.url()).pathname, '/me');
  }

  /** To pages that come from here; over the net Chromium would not let them have any. */
  const serveStatics = (page: Page) =>
    page.route(`${scene.server}static/**`, route =>
      route.request().url().includes('script.js')
        ? route.fulfill({ body: SCRIPT, contentType: 'text/javascript' })
        : route.fulfill({ body: STYLE, contentType: 'text/css' }),
    );

  it('needs no JavaScript: from the first page to the line for cron, which delivers, and to the pages of the provider', async () => {
    const { lcc, site, server } = scene;
    writeFileSync(join(site.docroot, 'index.html'), '<p>seen');
    const { page, said } = await open(false);
    const { pid, password, line } = await register(page, '');
    account = { pid, password };
    await deliver(line, site.docroot);
    assert.match((await lcc.holdings()).rows.join(), /^index\.html /);
    await login(page, pid, password);
    await page.click('nav a:text-is("Overview")');
    assert.match((await page.textContent('.state')) ?? '', /up to date/);
    for (const path of OWN_PAGES) {
      await page.goto(`${server}me${path}`);
      assert.notEqual(await page.textContent('h1'), 'Sorry', path);
      await keep(page);
    }
    await page.click('header button');
    await page.goto(`${server}me`);
    assert.equal(new URL(page.url()).pathname, '/login');
    assert.deepEqual(complaints(said), []);
  });

  it('does as much with JavaScript, which copies, and looks again by itself', async () => {
    const { lcc, site, server } = scene;
    mkdirSync(join(site.docroot, 'sub'));
    writeFileSync(join(site.docroot, 'sub', 'page.html'), '<p>seen, too');
    const { page, said } = await open(true);
    const { pid, password, line } = await register(page, 'sub/');
    await page.click('.code:has-text("lcccp") button.copy');
    await until(
      'it is copied',
      async () => (await page.textContent('.code:has-text("lcccp") button.copy')) === 'Copied',
    );
    await page.goto(`${server}register`);
    await page.focus('#url');
    await page.keyboard.press('Control+V');
    assert.equal(await page.inputValue('#url'), line);
    await deliver(line, join(site.docroot, 'sub'));
    assert.match((await lcc.holdings()).rows.join(), /sub\/page\.html /);
    await login(page, pid, password);
    await keep(page);

    // The page as it would be while a check runs, then as it is.
    const html = await page.content();
    const waits = html
      .replace('<main ', '<main data-refresh="0.1" ')
      .replace(/<h1[^]*?<\/h1>/, '<h1>Wait</h1>');
    let looks = 0;
    await page.route(`${server}me`, route =>
      route.fulfill({ body: ++looks > 2 ? html : waits, contentType: 'text/html' }),
    );
    await serveStatics(page);
    await page.goto(`${server}me`);
    await until('it has looked again', async () => (await page.textContent('h1')) === `${site.url}sub/`);
    assert.equal(looks, 3);
    assert.deepEqual(complaints(said), []);
  });

  it('takes forms of its own only: one that another site sends changes nothing', async () => {
    const { site, server } = scene;
    const { page } = await open(true);
    await login(page, account.pid, account.password);
    const token = await page.inputValue('input[name=form_token]');
    const form = (fields: string, path: string) =>
      `<form method="post" action="${server}${path}">${fields}<button>Win</button></form>`;
    writeFileSync(
      join(site.docroot, 'evil.html'),
      form(`<input name="form_token" value="${token}">`, 'logout') + form('<input name="url">', 'register'),
    );
    for (const which of [0, 1]) {
      await page.goto(`${site.url}evil.html`);
      const [answer] = await Promise.all([
        page.waitForResponse(response => response.request().method() === 'POST'),
        page.locator('button').nth(which).click(),
      ]);
      assert.equal(answer.status(), 403);
      assert.match((await page.textContent('[role=alert]')) ?? '', /from the page of another site/);
    }
    await page.goto(`${server}me`);
    assert.equal(new URL(page.url()).pathname, '/me');
  });

  it('has nothing that axe complains of, light and dark, 1280, 768 and 320 px wide', async () => {
    assert.ok(seen.size >= 13, [...seen.keys()].join('; '));
    // As the page of a private address it may load its style from there.
    const here = scene.server.replace(NAME, '127.0.0.1');
    assert.deepEqual(await pageProblems(browser, `${here}looked-at`, seen), []);
  });
});
